"""Which faces of a cell keep a form from being negative: what a proof is looked for among."""

from polycarve.splitting.kernels.compilation import kernel
from polycarve.splitting.kernels.simplex import BLURRED, OPTIMAL, PROBE, STUCK, walk
from polycarve.splitting.kernels.vertex import quick_settle, settle


@kernel
def propose(m, k, lower, upper, side_noise, rows, basis, E, v, p, witness, info, f, y, rates, gaps,
            matrix, counters, goals, count, outcomes, bases, prices, values):
    """Minimise the forms ``goals[i]`` over a cell, each from where the last one ended.

    Writes how each walk ended and, where that is OPTIMAL, the faces that meet at the end, the
    form's prices on them, and its value there.
    """
    stands = False
    for i in range(count):
        info[0] = 0  # points remembered for other purposes
        info[2] = -1
        info[3] = -1
        if not stands:
            stands = quick_settle(m, k, lower, upper, rows, basis, E, v, p, info, matrix, gaps) or (
                settle(m, k, lower, upper, rows, basis, E, v, p, info, matrix, gaps))
            if not stands:
                outcomes[i] = STUCK
                continue
        for j in range(k + 3):
            f[j] = goals[i, j]
        outcomes[i] = walk(PROBE, m, k, lower, upper, side_noise, rows, basis, E, v, p, witness,
                           info, f, y, rates, gaps, matrix, counters)
        stands = outcomes[i] != STUCK and outcomes[i] != BLURRED
        if outcomes[i] == OPTIMAL:
            values[i] = f[k]
            for j in range(k):
                bases[i, j] = basis[j]
                prices[i, j] = y[j]
                values[i] += f[j] * v[j]
