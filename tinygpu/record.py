"""Dataclasses, made in a fifth of the time: a command that takes a fifth of a second makes 160 of them first.

Comes in: a class with annotated fields. Goes out: what the standard library's decorator makes of it, for the options that tinygpu uses.
The one idea: a record is the product of its fields, so its methods are the same few functions of its projections

    r = (π₁ r, …, πₙ r)        r = s  ⇔  π r = π s        hash r = hash (π r)

and a constructor is a function of its setters, the same for all classes with as many fields; its arguments are named after the fields.
The standard library compiles six texts for each class.

>>> @dataclass(frozen=True, slots=True)
... class Point:
...     x: int
...     y: int = 0
>>> Point(1), Point(1) == Point(1, 0), len({Point(1), Point(1, 0)}), replace(Point(1), y=2)
(Point(x=1, y=0), True, 1, Point(x=1, y=2))
>>> Point(1).x = 2
Traceback (most recent call last):
dataclasses.FrozenInstanceError: a Point does not change: x

To the standard library a record is a dataclass too; its module, of which the import takes as long as all records, is loaded when it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

T = TypeVar("T")
Setter: TypeAlias = Callable[[Any, Any], Any]

MOST = 20  # fields
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
        inside |= {name: Standard(table, frozen) for name in ("__dataclass_fields__", "__dataclass_params__")}
        if frozen:
            inside |= FROZEN if slots else {"__setattr__": unchangeable, "__delattr__": unchangeable}
        if slots:
            inside["__slots__"] = tuple(one.name for one in kept if one.name in inside["__annotations__"])
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
    """`__init__`, whose arguments are the fields and what only `__post_init__` is given: one value, and last."""
    assert len(table) <= MOST and not any(one.given for one in table[:-1]), f"the fields of {cls}"
    setters = [_setter(getattr(cls, one.name).__set__ if slots else _assign(one.name), one) for one in table if not one.given]
    if len(table) > len(setters):
        setters.append(lambda self, value: self.__post_init__(value))
    elif hasattr(cls, "__post_init__"):
        setters[-1] = _last(setters[-1])
    made = construct(*setters)
    code, names, count = made.__code__, [one.name for one in table], len(table) + 1
    made.__code__ = code.replace(co_argcount=count, co_varnames=("self", *names, *code.co_varnames[count:]))
    made.__defaults__ = tuple(one.default for one in table if one.default is not MISSING or one.default_factory is not MISSING)
    made.__annotations__ = {one.name: one.type for one in table} | {"return": None}
    made.__name__, made.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    return made  # type: ignore[no-any-return]


def _setter(put: Setter, one: Field) -> Setter:
    make: Any = one.default_factory
    return put if make is MISSING else lambda self, value: put(self, make() if value is MISSING else value)


def _assign(name: str) -> Setter:
    return lambda self, value: object.__setattr__(self, name, value)


def _last(put: Setter) -> Setter:
    def last(self: Any, value: Any) -> None:
        put(self, value)
        self.__post_init__()

    return last


# fmt: off
def construct(*setters: Setter) -> Any:
    """`s₁, …, sₙ ↦ (x₁ … xₙ ↦ s₁(self, x₁); …; sₙ(self, xₙ))`; a setter gives None. Small records are made most, and each call of a function
    takes time for all of its arguments, so only large ones share a constructor, whose other arguments `constructor` takes away."""
    return (SMALL[len(setters)] if len(setters) < len(SMALL) else _large)(*setters)


SMALL: Any = (
    lambda: lambda self: None,
    lambda s1: lambda self, x1: s1(self, x1),
    lambda s1, s2: lambda self, x1, x2: s1(self, x1) or s2(self, x2),
    lambda s1, s2, s3: lambda self, x1, x2, x3: s1(self, x1) or s2(self, x2) or s3(self, x3),
    lambda s1, s2, s3, s4: lambda self, x1, x2, x3, x4: s1(self, x1) or s2(self, x2) or s3(self, x3) or s4(self, x4),
)


def _large(s1, s2, s3, s4, s5, s6=None, s7=None, s8=None, s9=None, s10=None,  # type: ignore[no-untyped-def]
           s11=None, s12=None, s13=None, s14=None, s15=None, s16=None, s17=None, s18=None, s19=None, s20=None):
    def __init__(self, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, x18, x19, x20):  # type: ignore[no-untyped-def]
        (s1(self, x1) or s2(self, x2) or s3(self, x3) or s4(self, x4) or s5(self, x5) or not s6 or s6(self, x6) or
         not s7 or s7(self, x7) or not s8 or s8(self, x8) or not s9 or s9(self, x9) or not s10 or s10(self, x10) or
         not s11 or s11(self, x11) or not s12 or s12(self, x12) or not s13 or s13(self, x13) or not s14 or s14(self, x14) or
         not s15 or s15(self, x15) or not s16 or s16(self, x16) or not s17 or s17(self, x17) or not s18 or s18(self, x18) or
         not s19 or s19(self, x19) or not s20 or s20(self, x20))
    return __init__
# fmt: on


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
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"a {type(self).__qualname__} does not change: {name}")


def state(self: Any) -> list[Any]:
    return list(parts(self).values())


def restored(self: Any, values: list[Any]) -> None:
    for one, value in zip(self.__record__, values, strict=True):
        object.__setattr__(self, one.name, value)


def replaced(self: Any, /, **changes: Any) -> Any:
    """The record with some fields changed."""
    for one in self.__record__:
        if one.name not in changes:
            changes[one.name] = getattr(self, one.name)
    return type(self)(**changes)


def parts(one: Any) -> dict[str, Any]:
    """The values of the fields, by name."""
    return {field.name: getattr(one, field.name) for field in one.__record__}


class Standard:
    """What the standard library looks for in a class, made when it first looks."""

    def __init__(self, table: tuple[Field, ...], frozen: bool) -> None:
        self.table, self.frozen, self.made = table, frozen, None

    def __set_name__(self, _: type[Any], name: str) -> None:
        self.name = name

    def __get__(self, _: Any, cls: type[Any]) -> Any:
        if self.made is None:
            self.made = self.make(cls)
        return self.made

    def make(self, cls: type[Any]) -> Any:
        import dataclasses

        def of(one: Field) -> tuple[str, Any, Any]:
            chosen = {"default": one.default, "default_factory": one.default_factory}
            kept = {name: value for name, value in chosen.items() if value is not MISSING}
            made = dataclasses.field(**kept, repr=one.repr, hash=one.hash, compare=one.compare)
            return one.name, dataclasses.InitVar[object] if one.given else one.type, made

        same = dataclasses.make_dataclass(cls.__name__, map(of, self.table), frozen=self.frozen)
        return getattr(same, self.name)


FROZEN = {  # what is copied or sent to another process is set without `__setattr__`
    "__setattr__": unchangeable,
    "__delattr__": unchangeable,
    "__getstate__": state,
    "__setstate__": restored,
}

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
