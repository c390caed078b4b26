"""Dataclasses, made in a fifth of the time: a command that takes a fifth of a second makes 160 of them first.

Comes in: a class with annotated fields. Goes out: what the standard library's decorator makes of it, for the options that tinygpu uses.
The one idea: a record is the product of its fields, so its methods are the same few functions of its projections

    r = (π₁ r, …, πₙ r)        r = s  ⇔  π r = π s        hash r = hash (π r)

and a constructor is a function of its setters alone: one text is compiled for all classes with as many fields, and the arguments are renamed.
The standard library compiles six texts for each class.

>>> from dataclasses import replace
>>> @dataclass(frozen=True, slots=True)
... class Point:
...     x: int
...     y: int = 0
>>> Point(1), Point(1) == Point(1, 0), len({Point(1), Point(1, 0)}), replace(Point(1), y=2)
(Point(x=1, y=0), True, 1, Point(x=1, y=2))
>>> Point(1).x = 2
Traceback (most recent call last):
dataclasses.FrozenInstanceError: a Point does not change: x
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")


def record(
    *, frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True, order: bool = False
) -> Callable[[type[T]], type[T]]:
    """`class → class`: the decorator, with the options of `dataclasses.dataclass`."""

    def made(given: type[T]) -> type[T]:
        own = set(vars(given))
        cls: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(given)
        kept = fields(cls)
        methods: dict[str, Any] = {"__init__": constructor(cls, kept, slots)}
        if repr:
            methods["__repr__"] = shown
        if eq:
            key = projections(tuple(f.name for f in kept if f.compare))
            methods["__eq__"] = equality(key)
            hashed = tuple(f.name for f in kept if (f.compare if f.hash is None else f.hash))
            methods["__hash__"] = hashing(projections(hashed)) if frozen else None
            if order:
                methods["__lt__"] = lambda self, other: key(self) < key(other)
        for name, method in methods.items():
            if name not in own or (name == "__hash__" and vars(given)[name] is None):
                setattr(cls, name, method)
        if frozen:
            cls.__setattr__, cls.__delattr__ = unchangeable, unchangeable
            if slots:  # what is copied or sent to another process is set without `__setattr__`
                cls.__getstate__, cls.__setstate__ = state, restored
        return cls  # type: ignore[no-any-return]

    return made


def constructor(cls: Any, kept: tuple[Field[Any], ...], slots: bool) -> Callable[..., None]:
    """`__init__`, whose arguments are the fields and what only `__post_init__` is given."""
    names: tuple[str, ...] = cls.__match_args__
    every = [cls.__dataclass_fields__[name] for name in names]
    stored = {one.name for one in kept}
    setters = [(getattr(cls, name).__set__ if slots else _setter(name)) if name in stored else None for name in names]
    makers = [None if one.default_factory is MISSING else one.default_factory for one in every]
    shape = tuple((bool(setter), bool(maker)) for setter, maker in zip(setters, makers, strict=True))
    made = template(shape, hasattr(cls, "__post_init__"))(*setters, *makers)
    made.__code__ = made.__code__.replace(co_varnames=("self", *names))
    made.__defaults__ = tuple(
        MISSING if m else o.default for o, m in zip(every, makers, strict=True) if m or o.default is not MISSING
    )
    made.__name__, made.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    return made


@cache
def template(shape: tuple[tuple[bool, bool], ...], after: bool) -> Callable[..., Any]:
    """For all classes of one shape (is an argument stored; is there a function that makes it) how setters and makers give a constructor."""
    count = range(len(shape))
    body = [
        f"set{n}(self, make{n}() if arg{n} is missing else arg{n})" if made else f"set{n}(self, arg{n})"
        for n, (stored, made) in enumerate(shape)
        if stored
    ]
    if after:
        body.append(f"self.__post_init__({', '.join(f'arg{n}' for n in count if not shape[n][0])})")
    parameters = ", ".join([f"set{n}" for n in count] + [f"make{n}" for n in count])
    arguments = ", ".join(["self", *(f"arg{n}" for n in count)])
    names: dict[str, Any] = {"missing": MISSING}
    lines = [
        f"def of({parameters}):",
        f" def __init__({arguments}):",
        *(f"  {line}" for line in body or ["pass"]),
        " return __init__",
    ]
    exec("\n".join(lines), names)
    return names["of"]  # type: ignore[no-any-return]


def _setter(name: str) -> Callable[[Any, Any], None]:
    return lambda self, value: object.__setattr__(self, name, value)


def projections(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """`r ↦ (π₁ r, …, πₙ r)`; of one field, that field."""
    return attrgetter(*names) if names else lambda _: ()


def equality(key: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def __eq__(self: Any, other: Any) -> Any:
        if self is other:
            return True
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def hashing(key: Callable[[Any], Any]) -> Callable[[Any], int]:
    return lambda self: hash(key(self))


def shown(self: Any) -> str:
    """`Name(field=value, …)`."""
    inside = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({inside})"


def unchangeable(self: Any, name: str, *_: Any) -> None:
    raise FrozenInstanceError(f"a {type(self).__qualname__} does not change: {name}")


def state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def restored(self: Any, values: list[Any]) -> None:
    for one, value in zip(fields(self), values, strict=True):
        object.__setattr__(self, one.name, value)


if TYPE_CHECKING:  # to a type checker it is the standard library's
    from dataclasses import dataclass as dataclass
else:
    dataclass = record
