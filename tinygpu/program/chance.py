"""Numpy's default generator in plain Python, so that a small run needs no numpy and sees the very inputs that a large one sees.

Comes in: a seed of a few 32-bit words. Goes out: uniform floats and integers, bit for bit those of `numpy.random.default_rng(words)`.
The one idea: the stream is a published algorithm (PCG64, seeded by a SeedSequence; both by M. O'Neill), and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable

WORD, LONG, STATE = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
POOL = 4  # words of the seed's pool
HASH, MIX = ((0x43B0D7E5, 0x931E8875), (0x8B51F9DD, 0x58F38DED)), (0xCA01F9DD, 0x4973F715)
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645


class Chance:
    """The generator of a seed.

    >>> Chance(0, 1).integers(0, 9, 6), Chance(0, 1).uniform(-2.0, 2.0, 1)
    ([4, 8, 8, 5, 2, 7], [1.558955165112537])
    """

    __slots__ = ("half", "state", "step")

    def __init__(self, *words: int) -> None:
        high, low, *sequence = _seeded(words)
        self.step = ((sequence[0] << 64 | sequence[1]) << 1 | 1) & STATE
        self.state = ((self.step + (high << 64 | low)) * MULTIPLIER + self.step) & STATE
        self.half: int | None = None

    def long(self) -> int:
        """The next 64 bits."""
        self.state = state = (self.state * MULTIPLIER + self.step) & STATE
        word, turn = (state >> 64) ^ (state & LONG), state >> 122
        return (word >> turn | word << (64 - turn)) & LONG

    def word(self) -> int:
        """The next 32 bits: the lower half of a long, then its upper half."""
        if self.half is not None:
            word, self.half = self.half, None
            return word
        both = self.long()
        self.half = both >> 32
        return both & WORD

    def uniform(self, low: float, high: float, count: int) -> list[float]:
        """Floats in `[low, high)`."""
        return [low + (high - low) * ((self.long() >> 11) * 2.0**-53) for _ in range(count)]

    def integers(self, low: int, high: int, count: int) -> list[int]:
        """Integers in `[low, high)`, fewer than 2³² of them."""
        many = high - low
        return [low] * count if many == 1 else [low + self._below(many) for _ in range(count)]

    def _below(self, many: int) -> int:
        """An integer in `[0, many)`: the upper half of a product, drawn anew where that would prefer some of them."""
        product = self.word() * many
        while product & WORD < many and product & WORD < (WORD + 1 - many) % many:
            product = self.word() * many
        return product >> 32


def _seeded(words: tuple[int, ...]) -> tuple[int, ...]:
    """Four longs of the seed: its words hashed into a pool, every word of the pool mixed into every other, and hashed again."""
    hashed = _hashes(*HASH[0])
    pool = [hashed(word) for word in (*words, *(0,) * (POOL - len(words)))]
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                mixed = (MIX[0] * pool[target] - MIX[1] * hashed(pool[source])) & WORD
                pool[target] = mixed ^ mixed >> 16
    hashed = _hashes(*HASH[1])
    out = [hashed(pool[n % POOL]) for n in range(2 * POOL)]
    return tuple(low | high << 32 for low, high in zip(out[::2], out[1::2], strict=True))


def _hashes(key: int, multiplier: int) -> Callable[[int], int]:
    """A hash of words whose key changes with each word."""

    def hashed(word: int) -> int:
        nonlocal key
        word ^= key
        key = key * multiplier & WORD
        word = word * key & WORD
        return word ^ word >> 16

    return hashed
