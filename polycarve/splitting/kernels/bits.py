"""Sets of facets as bits of unsigned words."""

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from polycarve.splitting.kernels.compilation import kernel

if numba.config.DISABLE_JIT:

    def popcount(word):
        """Return how many bits of a word are set."""
        return int(word).bit_count()

else:

    @intrinsic
    def popcount(typingctx, word):
        """Return how many bits of a word are set."""

        def codegen(context, builder, signature, args):
            return builder.ctpop(args[0])

        return types.uint64(types.uint64), codegen


@kernel
def lowest(word):
    """Return the lowest bit that is set, as a word; zero if there is none."""
    return word & (np.uint64(0) - word)


@kernel
def bit_at(place):
    """Return the word with one bit set, at a place from 0 to 63."""
    return np.uint64(1) << np.uint64(place)
