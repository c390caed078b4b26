"""Records behave as the standard library's dataclasses do.

Comes in: classes, each made by both decorators. Goes out: whatever can be asked of one, and does not tell which it was.
The one idea: the standard library is the specification, so what is answered is compared, and not said once more.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
from collections.abc import Callable, Iterator
from dataclasses import InitVar
from pathlib import Path
from typing import Any

import pytest

from tinygpu import record


def classes(make: Any) -> tuple[Any, ...]:
    @make.dataclass(frozen=True, slots=True)
    class Base:
        x: int
        note: str = make.field(default="", compare=False, repr=False)

    @make.dataclass(frozen=True, slots=True, order=True)
    class Point(Base):
        y: list[int] = make.field(default_factory=list, hash=False)
        twice: InitVar[int] = 0

        def __post_init__(self, twice: int) -> None:
            object.__setattr__(self, "x", self.x * (2 if twice else 1))

    @make.dataclass(slots=True)
    class State:
        seen: dict[str, int] = make.field(default_factory=dict)
        count: int = 0

    @make.dataclass(frozen=True, slots=True)
    class Named:
        x: int

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "named"

    @make.dataclass(slots=True, eq=False, repr=False)
    class Plain:
        x: int = 0

    return Base, Point, State, Named, Plain


def raised(call: Callable[[], object]) -> tuple[str, str]:
    """What a call raises: of what does not change only that it is an AttributeError."""
    with pytest.raises((TypeError, AttributeError)) as caught:
        call()
    return ("AttributeError", "") if isinstance(caught.value, AttributeError) else ("TypeError", str(caught.value))


def answers(make: Any) -> Iterator[Any]:
    """What is answered, question by question."""
    base, point, state, named, plain = classes(make)
    p, s = point(3, twice=1, y=[1]), state()
    yield p.x, p.note, p.y, [f.name for f in make.fields(p)], point.__match_args__, hasattr(p, "__dict__"), repr(p)
    yield make.is_dataclass(p), make.is_dataclass(point), make.is_dataclass(3)
    yield state().seen is state().seen, state(count=2).count, make.replace(p, x=5, twice=0).x, make.replace(p, x=5).x
    match p:
        case point(6, note=note):
            yield note
    yield (
        base(1, "a") == base(1, "b"),
        hash(base(1, "a")) == hash(base(1, "b")),
        base(1) == base(2),
        base(1) == point(1),
        base(1) == 1,
    )
    yield point(1, y=[0]) < point(1, y=[1]), hash(point(1, y=[0])) == hash(point(1, y=[1])), state(count=1) == state(count=1)
    yield (
        hash(named(1)),
        repr(named(1)),
        named(1) == named(1),
        plain() == plain(),
        "object at" in repr(plain()),
        type(hash(plain())),
    )
    s.count += 1
    yield s.count, raised(lambda: hash(s)), raised(base), raised(lambda: base(1, z=2)), raised(lambda: base(1, "a", 3))
    yield raised(lambda: setattr(p, "x", 2)), raised(lambda: delattr(p, "x")), p.x
    for one in (base(1, "a"), point(2, y=[3]), state({"a": 1})):
        cls = type(one)
        cls.__qualname__ = cls.__name__  # where pickle looks for it
        globals()[cls.__name__] = cls
        yield copy.deepcopy(one) == one, pickle.loads(pickle.dumps(one)) == one


def test_nothing_tells_which_it_was() -> None:
    for ours, theirs in zip(answers(record), answers(dataclasses), strict=True):
        assert ours == theirs


def test_only_records_make_dataclasses(root: Path) -> None:
    """A command does not wait for the import of the standard library's module, nor of what that imports."""
    for path in (root / "tinygpu").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        assert not [n for n in top if getattr(n, "module", "") == "dataclasses" or "dataclasses" in [a.name for a in n.names]], path
