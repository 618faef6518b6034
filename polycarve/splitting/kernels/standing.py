"""Cells of the simplex method begun anew from a pattern and an interior point."""

from polycarve.splitting.kernels.arrays import ACTIVE, INACTIVE
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.forms import push_forms, take_form
from polycarve.splitting.kernels.vertex import quick_settle, settle


@kernel
def stand(problem, forms, cell, room, n_layers, bits, points, starts_of, cuts_of, bases, edges,
          vertices, found):
    """Find a vertex of each cell to begin a walk from, with its basis and edges.

    Cell i has the pattern ``bits[i]`` of the first `n_layers` layers, and the cuts
    ``cuts_of[starts_of[i] : starts_of[i + 1]]`` split its ancestors. ``found[i]`` says whether
    there is a vertex.
    """
    (k, lower, upper, _, side_rows, size, _, starts, layer_of, weights, weight_starts, inputs,
     input_starts, bias, _, _, _, _) = problem
    values, errors, sizes = forms
    marks, _, rows, basis, E, v, p, _, info = cell
    gaps, matrix = room.gaps, room.matrix
    n_sides = side_rows.shape[1]
    for r in range(n_sides):
        for j in range(k + 2):
            rows[j, r] = side_rows[j, r]
    for i in range(len(bits)):
        # Forms depend on the marks of earlier layers: keep those that the last cell had too.
        changed = 0 if i == 0 else n_layers
        for cut in range(starts[n_layers]):
            mark = ACTIVE if bits[i, cut] == 1 else INACTIVE
            if mark != marks[cut] and i > 0:
                changed = min(changed, layer_of[cut] + 1)
            marks[cut] = mark
        for layer in range(changed, n_layers):
            push_forms(layer, k, size, starts, layer_of, weights, weight_starts, inputs,
                       input_starts, bias, marks, values, errors, sizes)
        first = starts_of[i]
        m = n_sides + starts_of[i + 1] - first
        for r in range(n_sides, m):
            cut = cuts_of[first + r - n_sides]
            take_form(cut, float(marks[cut]), k, starts, layer_of, values, errors, sizes,
                      rows[:, r])
        for j in range(k):
            p[j] = points[i, j]
        for place in range(4):
            info[place] = -1 if place > 1 else 0
        found[i] = (
            quick_settle(m, k, lower, upper, rows, basis, E, v, p, info, matrix, gaps)
            or settle(m, k, lower, upper, rows, basis, E, v, p, info, matrix, gaps))
        for q in range(k):
            bases[i, q] = basis[q]
            vertices[i, q] = v[q]
            for j in range(k):
                edges[i, q, j] = E[q, j]
