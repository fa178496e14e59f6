"""A real number in [0, 1) for each seed and place, as a string of bits that has no end.

Block n of the string, 256 bits of it, is the SHA-256 of the ASCII text "seed:place:n", all three written in decimal. This is part
of what a seed means, so it stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

_BLOCK = 256


@dataclass(frozen=True)
class Uniform:
    """The number that `seed` gives for one place in a sequence."""

    seed: int
    place: int

    def prefix(self, bits: int) -> int:
        """The integer m of the first `bits` bits: the number is in [m/2^bits, (m+1)/2^bits).

        >>> u = Uniform(seed=1, place=0)
        >>> u.prefix(4), u.prefix(8), u.prefix(64) == u.prefix(300) >> 236
        (5, 82, True)
        """
        blocks = -(-bits // _BLOCK)
        digests = [sha256(f"{self.seed}:{self.place}:{n}".encode("ascii")).digest() for n in range(blocks)]
        return int.from_bytes(b"".join(digests), "big") >> (blocks * _BLOCK - bits)
