"""A state as JSON: its records with the names of their classes, read back without the grammar.

    State ≅ {"is": "State", "nests": [{"is": "Nest", …}], …}

Comes in: a state, or JSON. Goes out: the other one. The one idea: a state is records all the way down, so the functor to JSON is one line for each kind of value, and it is ten times as fast as
reading the text.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tinygpu.record import fields, is_dataclass
from tinygpu.syntax import tree
from tinygpu.tune import state as states
from tinygpu.tune.state import State


def encoded(state: State) -> str:
    """`State → JSON`."""
    return json.dumps(_plain(state), separators=(",", ":"))


def decoded(text: str) -> State | None:
    """`JSON → State`; None of what another version wrote.

    >>> one = State("f", (states.Nest((), (("i", (states.Factor("i", "grid"),)),)),))
    >>> decoded(encoded(one)) == one, decoded('{"is":"State","shape":3}')
    (True, None)
    """
    try:
        found = json.loads(text, object_hook=_record)
    except (TypeError, ValueError, KeyError):
        return None
    return found if isinstance(found, State) else None


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        kept = {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.compare}
        return {"is": type(value).__name__} | kept
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _record(found: dict[str, Any]) -> Any:
    made = _classes()[found.pop("is")]
    return made(**{name: _tuples(value) for name, value in found.items()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@cache
def _classes() -> dict[str, Any]:
    every = {name: one for module in (tree, states) for name, one in vars(module).items()}
    return {name: one for name, one in every.items() if isinstance(one, type) and is_dataclass(one)}
