"""The tree of splits that a sorted list of patterns is."""

from polycarve.splitting.kernels.compilation import kernel


@kernel
def nearest_smaller(values, before, after):
    """Write, for each entry, the nearest earlier and later index of a smaller value (-1: none)."""
    n = len(values)
    for i in range(n):
        j = i - 1
        while j >= 0 and values[j] >= values[i]:
            j = before[j]
        before[i] = j
    for i in range(n - 1, -1, -1):
        j = i + 1
        while 0 <= j < n and values[j] >= values[i]:
            j = after[j]
        after[i] = j if j < n else -1


@kernel
def ancestor_cuts(region, first_difference, before, after, out):
    """Write the cuts that split an ancestor of a region, in order; return how many.

    Neighbours in the sorted list part at a cut; going outwards from a region, every cut smaller
    than all met before is one that separates it from those beyond.
    """
    n = len(first_difference)
    count = 0
    i = region - 1
    while i >= 0:
        out[count] = first_difference[i]
        count += 1
        i = before[i]
    i = region if region < n else -1
    while i >= 0:
        out[count] = first_difference[i]
        count += 1
        i = after[i]
    for at in range(1, count):  # few, and in two runs: insertion will do
        value = out[at]
        place = at
        while place > 0 and out[place - 1] > value:
            out[place] = out[place - 1]
            place -= 1
        out[place] = value
    return count
