"""The halfspaces of regions' facets."""

from polycarve.splitting.kernels.arrays import ACTIVE, INACTIVE
from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.forms import push_forms


@kernel
def write_rows(problem, forms, marks, bits, offsets, sources, halfspaces):
    """Write the halfspaces ``[a, b]`` of regions' facets, given by cuts or ``-1 - face``."""
    (k, lower, upper, _, side_rows, size, _, starts, layer_of, weights, weight_starts, inputs,
     input_starts, bias, _, _, _, _) = problem
    values, errors, sizes = forms
    for i in range(len(bits)):
        changed = 0 if i == 0 else len(starts)
        for cut in range(starts[-1]):
            mark = ACTIVE if bits[i, cut] == 1 else INACTIVE
            if mark != marks[cut]:
                changed = min(changed, layer_of[cut] + 1)
            marks[cut] = mark
        for layer in range(changed, len(starts) - 1):
            push_forms(layer, k, size, starts, layer_of, weights, weight_starts, inputs,
                       input_starts, bias, marks, values, errors, sizes)
        for at in range(offsets[i], offsets[i + 1]):
            write_row(sources[at], k, lower, upper, side_rows, starts, layer_of, marks, values,
                       halfspaces[at])


@kernel
def write_row(source, k, lower, upper, side_rows, starts, layer_of, marks, values, out):
    """Write ``[a, b]``, meaning ``a @ u <= b``, of a cut or of a face ``-1 - source``."""
    for j in range(k + 1):
        out[j] = 0.0
    face = -1 - source
    if source >= 0:
        n = starts[layer_of[source] + 1] - starts[layer_of[source]]
        column = starts[layer_of[source]] * (k + 1) + source - starts[layer_of[source]]
        for j in range(k):
            out[j] = -marks[source] * values[column + j * n]
        out[k] = marks[source] * values[column + k * n]
    elif face < 2 * k:
        out[face % k] = -1.0 if face < k else 1.0
        out[k] = -lower[face] if face < k else upper[face - k]
    else:
        for j in range(k):
            out[j] = -side_rows[j, face - 2 * k]
        out[k] = side_rows[k, face - 2 * k]
