"""Records behave as the standard library's dataclasses do.

Comes in: classes, each made by both decorators. Goes out: that nothing that can be asked of one tells which it was.
The one idea: the standard library is the specification, so each test runs twice.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
from dataclasses import InitVar
from pathlib import Path
from typing import Any

import pytest

from tinygpu import record

MAKERS: dict[str, Any] = {"standard": dataclasses, "ours": record}


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param]


def classes(make: Any) -> tuple[Any, Any, Any]:
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

    return Base, Point, State


def test_arguments_defaults_and_what_is_stored(make: Any) -> None:
    _, point, state = classes(make)
    p = point(3, twice=1, y=[1])
    assert (p.x, p.note, p.y) == (6, "", [1]) and [f.name for f in make.fields(p)] == ["x", "note", "y"]
    assert point.__match_args__ == ("x", "note", "y", "twice") and not hasattr(p, "__dict__")
    assert make.is_dataclass(p) and make.is_dataclass(point) and not make.is_dataclass(3)
    assert state().seen is not state().seen and state(count=2).count == 2
    assert repr(p) == f"{point.__qualname__}(x=6, y=[1])"
    assert make.replace(p, x=5, twice=0).x == 5 and make.replace(p, x=5).x == 5
    match p:
        case point(6, note=note):
            assert note == ""
        case _:
            raise AssertionError


def test_equality_order_and_hash(make: Any) -> None:
    base, point, state = classes(make)
    assert base(1, "a") == base(1, "b") and hash(base(1, "a")) == hash(base(1, "b")) and base(1) != base(2)
    assert base(1) != point(1) and base(1) != 1 and point(1, y=[0]) < point(1, y=[1])
    assert hash(point(1, y=[0])) == hash(point(1, y=[1]))
    assert state(count=1) == state(count=1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(state())


def test_nothing_frozen_changes(make: Any) -> None:
    base, _, state = classes(make)
    one, other = base(1), state()
    with pytest.raises(AttributeError):
        one.x = 2
    with pytest.raises(AttributeError):
        del one.x
    other.count += 1
    assert other.count == 1


def test_wrong_arguments_are_named(make: Any) -> None:
    base, _, _ = classes(make)
    with pytest.raises(TypeError, match=r"Base.__init__\(\) missing 1 required positional argument: 'x'"):
        base()
    with pytest.raises(TypeError, match=r"Base.__init__\(\) got an unexpected keyword argument 'z'"):
        base(1, z=2)


def test_copies_and_other_processes(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for cls, one in zip(classes(make), (lambda c: c(1, "a"), lambda c: c(2, y=[3]), lambda c: c({"a": 1})), strict=True):
        cls.__qualname__ = cls.__name__  # where pickle looks for it
        monkeypatch.setitem(globals(), cls.__name__, cls)
        made = one(cls)
        assert copy.deepcopy(made) == made and pickle.loads(pickle.dumps(made)) == made


def test_methods_of_the_class_itself_stay(make: Any) -> None:
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

    assert hash(Named(1)) == 7 and repr(Named(1)) == "named" and Named(1) == Named(1)
    assert Plain() != Plain() and "object at" in repr(Plain()) and isinstance(hash(Plain()), int)


def test_only_records_make_dataclasses(root: Path) -> None:
    """A command does not wait for the import of the standard library's module, nor of what that imports."""
    for path in (root / "tinygpu").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        assert not [n for n in top if getattr(n, "module", "") == "dataclasses" or "dataclasses" in [a.name for a in n.names]], path
