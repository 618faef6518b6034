"""Which row each facet's bit stands for, and what is written down of a leaf's shape.

``owners[m, b]`` is the row of bit b in a cell of m rows (beyond the box's): a child has what its
parent has, and the new bit. Cells on the stack find the entries of their ancestors in place. With
no entries, nothing is recorded.
"""

import numpy as np
from numpy import uint64 as u

from polycarve.splitting.kernels.bits import lowest, popcount
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.polytopes import free_bit
from polycarve.splitting.kernels.vertex_arrays import CORNERS, FACETS, LINKS


@kernel
def begin_owners(k, owners):
    """Let the first bits stand for the sides of the box."""
    if len(owners) > 0:
        for bit in range(2 * k):
            owners[0, bit] = bit


@kernel
def own(m, row, start, stop, B, owners):
    """Write the owners of a cell's children: its bits' own, and `row` for the bit they will get."""
    if len(owners) == 0:
        return
    for bit in range(owners.shape[1]):
        owners[m + 1, bit] = owners[m, bit]
    word, bit = free_bit(start, stop, B)
    if word >= 0:
        owners[m + 1, 64 * word + int(popcount(bit - u(1)))] = row


@kernel
def fits(start, stop, B, corners, codes, links, counters):
    """Whether there is room to write down a cell."""
    n_links = 0
    n_facets = 0
    for w in range(B.shape[0]):
        used = np.uint64(0)
        for v in range(start, stop):
            used |= B[w, v]
            n_links += int(popcount(B[w, v]))
        n_facets += int(popcount(used))
    if counters[FACETS] + n_facets > len(codes):
        return False
    return len(corners) == 0 or (counters[CORNERS] + stop - start <= len(corners)
                                 and counters[LINKS] + n_links <= len(links))


@kernel
def write_shape(leaf, k, m, start, stop, row_cuts, X, B, owners, generic, shape_counts, corners,
                codes, link_counts, links, counters):
    """Write down a leaf's vertices and its facets: where each comes from, and its vertices.

    A facet's source is its cut, or ``-1 - r`` for row r of the box and the domain. A bit is no
    facet if all its vertices have another one too, unless that one comes later and is as large:
    not to be met where nothing touched the cell.
    """
    with_vertices = len(corners) > 0
    if with_vertices:
        at = counters[CORNERS]
        for v in range(start, stop):
            for j in range(k):
                corners[at + v - start, j] = X[j, v]
        counters[CORNERS] += stop - start
    n_facets = 0
    for word in range(B.shape[0]):
        used = np.uint64(0)
        for v in range(start, stop):
            used |= B[word, v]
        while used != 0:
            bit = lowest(used)
            used ^= bit
            code = _code(k, m, word, bit, row_cuts, owners)
            if not generic[leaf] and not _is_facet(k, m, word, bit, code, start, stop, row_cuts, B,
                                                   owners):
                continue
            facet = counters[FACETS]
            codes[facet] = code
            counters[FACETS] += 1
            n_facets += 1
            if not with_vertices:
                continue
            link_counts[facet] = 0
            for v in range(start, stop):
                if B[word, v] & bit != 0:
                    links[counters[LINKS]] = v - start
                    counters[LINKS] += 1
                    link_counts[facet] += 1
    shape_counts[leaf, 0] = stop - start
    shape_counts[leaf, 1] = n_facets


@kernel
def _code(k, m, word, bit, row_cuts, owners):
    row = owners[m, 64 * word + int(popcount(bit - u(1)))]
    if row < 2 * k or row_cuts[row - 2 * k] < 0:
        return -1 - np.int64(row)
    return row_cuts[row - 2 * k]


@kernel
def _is_facet(k, m, word, bit, code, start, stop, row_cuts, B, owners):
    """Whether no other bit has all the vertices of a bit; of equal ones the first is a facet."""
    shared = np.uint64(0)
    for w in range(B.shape[0]):
        shared = ~np.uint64(0)
        count = 0
        for v in range(start, stop):
            if B[word, v] & bit != 0:
                shared &= B[w, v]
                count += 1
        if w == word:
            shared &= ~bit
        while shared != 0:
            other = lowest(shared)
            shared ^= other
            others = 0
            for v in range(start, stop):
                others += B[w, v] & other != 0
            if others > count:
                return False
            # The same vertices: sides before cuts, and the lowest of either.
            rival = _code(k, m, w, other, row_cuts, owners)
            if (rival < 0 and (code >= 0 or rival > code)) or (0 <= rival < code):
                return False
    return True
