"""Dataclasses, made in a fifth of the time: a command that takes a third of a second makes 160 of them first.

Comes in: a class with annotated fields. Goes out: what the standard library's decorator makes of it, for the options that tinygpu uses.
The one idea: a record is the product of its fields, so its methods are the same few functions of its projections

    r = (π₁ r, …, πₙ r)        r = s  ⇔  π r = π s        hash r = hash (π r)

and only its constructor is a text of its own. The standard library compiles six for each class.

>>> @dataclass(frozen=True, slots=True)
... class Point:
...     x: int
...     y: int = 0
>>> Point(1), Point(1) == Point(1, 0), len({Point(1), Point(1, 0)}), replace(Point(1), y=2)
(Point(x=1, y=0), True, 1, Point(x=1, y=2))
>>> Point(1).x = 2
Traceback (most recent call last):
AttributeError: a Point does not change: x
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")
MISSING: Any = type("MISSING", (), {})()


class Field:
    """A field, or with `given` what only `__post_init__` is given; how it is compared, hashed and shown; its default, or what makes one."""

    __slots__ = ("compare", "default", "default_factory", "given", "hash", "name", "repr", "type")

    def __init__(
        self,
        default: Any = MISSING,
        default_factory: Any = MISSING,
        repr: bool = True,
        hash: bool | None = None,
        compare: bool = True,
    ) -> None:
        self.default, self.default_factory, self.repr, self.compare = default, default_factory, repr, compare
        self.hash = compare if hash is None else hash

    def named(self, name: str, text: str) -> Field:
        self.name, self.type, self.given = name, text, text.startswith("InitVar[")
        return self


class Pictured:
    """A record that a notebook shows as what `tinygpu.pictures` makes of it, which is loaded then: it is downstream of all that it draws."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(import_module("tinygpu.pictures").html(self))


def record(
    *, frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True, order: bool = False, init: bool = True
) -> Callable[[type[T]], type[T]]:
    """`class → class`: the decorator, with the options of `dataclasses.dataclass`."""

    def made(given: type[T]) -> type[T]:
        inside = dict(vars(given))
        table = tabled(given, inside)
        kept = tuple(one for one in table if not one.given)
        methods: dict[str, Any] = {"__repr__": shown} if repr else {}
        if eq:
            key = projections(one.name for one in kept if one.compare)
            methods["__eq__"] = equality(key)
            methods["__hash__"] = hashing(projections(one.name for one in kept if one.hash)) if frozen else None
            if order:
                methods["__lt__"] = lambda self, other: key(self) < key(other)
        if inside.get("__hash__", 0) is None:  # as Python leaves it in a class with an `__eq__` of its own
            del inside["__hash__"]
        inside = methods | inside | {"__record__": kept, "__match_args__": tuple(one.name for one in table)}
        if frozen:
            inside |= {"__setattr__": unchangeable, "__delattr__": unchangeable}
        if slots:
            inside["__slots__"] = tuple(one.name for one in kept if one.name in inside["__annotations__"])
            if "__reduce__" not in dir(given) or given.__reduce__ is object.__reduce__:
                inside["__reduce__"] = reduced
        meta: Any = type(given)
        cls = meta(given.__name__, given.__bases__, inside)
        if init:
            cls.__init__ = constructor(cls, table, slots)
        return cls  # type: ignore[no-any-return]

    return made


def tabled(given: type[Any], inside: dict[str, Any]) -> tuple[Field, ...]:
    """The fields, those of the bases first. The defaults of what is stored do not stay `inside` the class."""
    table: dict[str, Field] = {}
    for base in reversed(given.__mro__[1:]):
        table |= {one.name: one for one in vars(base).get("__record__", ())}
    for name, text in inside.setdefault("__annotations__", {}).items():
        default = inside.pop(name, MISSING)
        table[name] = one = (default if isinstance(default, Field) else Field(default)).named(name, text)
        if one.given and one.default is not MISSING:
            inside[name] = one.default
    for gone in ("__dict__", "__weakref__"):
        inside.pop(gone, None)
    inside["__qualname__"] = given.__qualname__
    return tuple(table.values())


def constructor(cls: Any, table: tuple[Field, ...], slots: bool) -> Callable[..., None]:
    """`__init__`, whose arguments are the fields and what only `__post_init__` is given."""
    scope: dict[str, Any] = {"MISSING": MISSING, "put": object.__setattr__}
    arguments, lines = ["self"], []
    for one in table:
        name, default, make = one.name, f"default_{one.name}", f"make_{one.name}"
        scope |= {default: one.default, make: one.default_factory}
        optional = one.default is not MISSING or one.default_factory is not MISSING
        arguments.append(f"{name}={default}" if optional else name)
        value = name if one.default_factory is MISSING else f"{make}() if {name} is MISSING else {name}"
        if slots and not one.given:
            scope[f"put_{name}"] = getattr(cls, name).__set__
            lines.append(f"put_{name}(self, {value})")
        elif not one.given:
            lines.append(f"put(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append(f"self.__post_init__({', '.join(one.name for one in table if one.given)})")
    exec(f"def __init__({', '.join(arguments)}):\n " + "\n ".join(lines or ["pass"]), scope)
    made = scope["__init__"]
    made.__annotations__ = {one.name: one.type for one in table} | {"return": None}
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made  # type: ignore[no-any-return]


def projections(names: Iterable[str]) -> Callable[[Any], Any]:
    """`r ↦ (π₁ r, …, πₙ r)`; of one field, that field."""
    every = tuple(names)
    return attrgetter(*every) if every else lambda _: ()


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
    inside = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in self.__record__ if one.repr)
    return f"{type(self).__qualname__}({inside})"


def unchangeable(self: Any, name: str, *_: Any) -> None:
    raise AttributeError(f"a {type(self).__qualname__} does not change: {name}")


def reduced(self: Any) -> Any:
    """What is copied or sent to another process: its parts are set, and nothing else is done again."""
    return restored, (type(self), parts(self))


def restored(cls: Any, values: dict[str, Any]) -> Any:
    one = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(one, name, value)
    return one


def replaced(self: Any, /, **changes: Any) -> Any:
    """The record with some fields changed."""
    return type(self)(**parts(self) | changes)


def parts(one: Any) -> dict[str, Any]:
    """The values of the fields, by name."""
    return {field.name: getattr(one, field.name) for field in one.__record__}


if TYPE_CHECKING:  # to a type checker all of it is the standard library's
    from dataclasses import InitVar as InitVar
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace
else:
    InitVar, dataclass, field, replace = Any, record, Field, replaced
    fields, is_dataclass = attrgetter("__record__"), lambda one: hasattr(one, "__record__")
