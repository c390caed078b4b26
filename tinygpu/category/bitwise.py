"""What is true of bits as integers, for solvers that know nothing of them.

    a, b ≥ 0  ⊢  0 ≤ a & b ≤ a ≤ a | b ≤ a + b,  0 ≤ a ^ b ≤ a + b        −2ᵏ ≤ a, b < 2ᵏ  ⊢  −2ᵏ ≤ a ∘ b < 2ᵏ
    0 ≤ j < k − (bits of c)  ⊢  c << j ≥ c                               where k bits hold a number that is not negative
    0 ≤ j ≤ k  ⊢  c << j ≤ c·2ᵏ

Comes in: a number in a script that an operation on bits has made, and of what. Goes out: theorems about it. The one idea: addresses are made of bits by
masks, by flips and by powers of two, and what has to be known of these is how large they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.sexpr import Builder, Node

FEW = 10  # places up to which it is said how large a power of two is
WIDTHS = (31, 32, 63)  # of integers that are larger than the solver's own bits are


def of_bits(to: Builder, value: Node, op: str, args: tuple[Node, ...]) -> Iterator[Node]:
    """The theorems."""
    name, _, width = op.partition(" ")
    a, b = args
    if name == "shl":
        first = to.literal(a)
        if first is not None and first > 0:
            far = to.number(int(width) - first.bit_length())
            natural = to.compare(">=", b, to.number(0))
            yield to.implies(to.both(natural, to.compare("<=", b, far)), to.compare(">=", value, a))
            for k in range(min(FEW, int(width) - first.bit_length()) + 1):
                yield to.implies(
                    to.both(natural, to.compare("<=", b, to.number(k))), to.compare("<=", value, to.number(first << k))
                )
        return
    most = (a, b) if name == "bitand" else (to.make("Int", "+", a, b),)
    least = (a, b) if name == "bitor" else (to.number(0),)
    ends = (*(to.compare("<=", x, value) for x in least), *(to.compare("<=", value, x) for x in most))
    yield to.implies(to.both(*(to.compare(">=", x, to.number(0)) for x in args)), to.both(*ends))
    for k in WIDTHS:
        low, high = to.number(-(1 << k)), to.number(1 << k)
        inside = [to.both(to.compare("<=", low, x), to.compare("<", x, high)) for x in (*args, value)]
        yield to.implies(to.both(*inside[:2]), inside[2])
