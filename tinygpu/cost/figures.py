"""Numbers for a reader: three digits and a unit.

Comes in: a number, or None for what is not known. Goes out: text. The one idea: units of powers of 1000, as data sheets give them.
"""

from __future__ import annotations

UNITS = ("", "k", "M", "G", "T", "P", "E")


def amount(value: float | None) -> str:
    """A count: all digits up to a hundred thousand, then three with a unit.

    >>> amount(4096), amount(134_217_728), amount(None), amount(999_999)
    ('4096', '134 M', '?', '1 M')
    """
    if value is None:
        return "?"
    if value < 100_000:
        return f"{value:.0f}"
    return _short(value).strip()


def _short(value: float) -> str:
    step = 0
    while float(f"{value:.3g}") >= 1000 and step + 1 < len(UNITS):
        value, step = value / 1000, step + 1
    return f"{value:.3g} {UNITS[step]}"


def bytes_of(value: float | None) -> str:
    """Bytes.

    >>> bytes_of(67_108_864), bytes_of(12), bytes_of(None), bytes_of(1000)
    ('67.1 MB', '12 B', '?', '1 kB')
    """
    return "?" if value is None else _short(value) + "B"


def ratio(value: float | None) -> str:
    """A ratio.

    >>> ratio(1.0), ratio(32.04), ratio(131072.0), ratio(None)
    ('1', '32', '131 k', '?')
    """
    return f"{value:.3g}" if value is not None and value < 1000 else amount(value)


def seconds_of(value: float) -> str:
    """A time.

    >>> seconds_of(0.00206), seconds_of(6e-8), seconds_of(1.5)
    ('2.06 ms', '60 ns', '1.5 s')
    """
    for unit in ("s", "ms", "µs"):
        if value >= 1:
            return f"{value:.3g} {unit}"
        value *= 1000
    return f"{value:.3g} ns"
