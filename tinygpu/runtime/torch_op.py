"""Launchers as operators of torch: `torch_op(softmax)` is `torch.ops.tinygpu.softmax`, with which `torch.compile` and autograd can reckon; `torch_ops(module)` is all of them.

    name(Tensor x, float eps, *, SymInt n) -> Tensor        name(Tensor(a!) w, Tensor g) -> ()        the second one is in place

Comes in: a launcher, beside which its table stands. Goes out: an operator that calls it, whose fake twin knows shapes and dtypes from the same table.
The one idea: the table is the contract, so the schema, the fake function and the names of gradients follow from it, and nothing is said twice.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from tinygpu.runtime.conditions import _python
from tinygpu.runtime.go import _extents, _known, _Spec
from tinygpu.runtime.launch import _compiled, _shown
from tinygpu.runtime.views import _HELD, _article, _fail

_Link = tuple[list[str], list[str], dict[str, tuple[str, int]]]
_MISSING = "TG940 torch is not installed: pip install 'tinygpu[torch]'"


def torch_op(
    launcher: Callable[..., Any], namespace: str = "tinygpu", name: str = "", backward: Sequence[Callable[..., Any]] = ()
) -> Any:
    """The operator NAMESPACE::NAME of a launcher; NAME is the launcher's own, if none is given. The same launcher gives the same operator.

    Outputs that may be arrays of inputs are written there, so the operator changes these arguments and returns the other outputs.
    `backward` are launchers that give gradients, told by names: of an input x and an output y of this one they take x, y and dy, and give dx.
    Where none are named, they are those that the launcher's module has proved to give them.
    Raises ImportError without torch; TypeError for what is no launcher, or cannot be an operator (TG941); ValueError where the name is taken
    (TG942) or a gradient does not fit (TG943).
    """
    torch = _torch()
    spec = _table(launcher)
    name = name or launcher.__name__
    kept, title = vars(torch).setdefault("_tinygpu_ops", {}), f"{namespace}::{name}"
    backward = tuple(backward) or _proved(launcher, spec)
    gradients = tuple(torch_op(one, namespace) for one in backward)
    mine = (launcher.__globals__.get("__file__"), launcher.__name__, spec, gradients)
    if title in kept:
        if kept[title][0] != mine:
            said = "is another launcher's already, or was registered with other gradients: give name=… or namespace=…"
            _fail(ValueError, "TG942", title, said)
        return kept[title][1]
    if hasattr(getattr(torch.ops, namespace), name):
        _fail(ValueError, "TG942", title, "is an operator of somebody else already: give name=… or namespace=…")
    links = _links(title, spec, [_table(one) for one in backward]) if backward else []
    words = [*inspect.signature(launcher).parameters][: len(spec["inputs"]) + len(_told(spec))]
    library = torch.library.Library(namespace, "FRAGMENT")
    try:
        library.define(f"{name}{_schema(spec, words)}")
    except (RuntimeError, ValueError) as error:
        _fail(TypeError, "TG941", title, f"torch takes no such operator: {str(error).splitlines()[0]}")
    library.impl(name, _called(torch, launcher, spec), "CompositeExplicitAutograd")
    library.impl(name, torch.library.fallthrough_kernel, "Negative")  # torch would make a copy first, and say nothing
    torch.library.register_fake(title, _twin(torch, spec, words), lib=library)
    if backward:
        _differentiable(torch, library, title, spec, gradients, links)
    made = getattr(getattr(torch.ops, namespace), name).default
    kept[title] = mine, made, library
    return made


def torch_ops(module: types.ModuleType, namespace: str = "tinygpu") -> dict[str, Any]:
    """The operators of a module's launchers, by each name that it offers one under; none of those that no input is an array of, and of functions
    that take a launcher by dtype. Raises TypeError (TG941) where there is none at all, and what `torch_op` raises."""
    offered = ((name, getattr(module, name)) for name in getattr(module, "__all__", ()))
    specs = ((name, one, vars(module).get(f"{getattr(one, '__name__', '')}_spec")) for name, one in offered)
    found = {name: torch_op(one, namespace) for name, one, spec in specs if spec and _arrays_of(spec)}
    if not found:
        _fail(
            TypeError,
            "TG941",
            str(getattr(module, "__name__", module)),
            "is no module that tinygpu has built: it offers no launcher",
        )
    return found


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError(_MISSING) from None
    return torch


def _table(launcher: Any) -> _Spec:
    """The table of a launcher, which an operator can be made of."""
    name = str(getattr(launcher, "__name__", launcher))
    spec: _Spec | None = getattr(launcher, "__globals__", {}).get(f"{name}_spec")
    if spec is None:
        said = "is no launcher: an operator is made of a function that tinygpu.build gives, or that a module has for a machine"
        _fail(TypeError, "TG941", name, f"{said}, not of {_article(type(launcher).__name__)}")
    if not _arrays_of(spec):
        _fail(TypeError, "TG941", name, "has no array among its inputs, and torch finds an operator's device by its tensors")
    return spec


def _proved(launcher: Callable[..., Any], spec: _Spec) -> tuple[Callable[..., Any], ...]:
    """The launchers of its module that are proved to give the gradients of one; none of one in place, whose inputs are gone."""
    found = launcher.__globals__.get("gradients", {}).get(launcher.__name__, ())
    return () if _written(spec) else tuple(launcher.__globals__[name] for name in found)


def _told(spec: _Spec) -> list[str]:
    """The sizes that no input tells."""
    return [size for size in spec["sizes"] if size not in spec["solved"]]


def _arrays_of(spec: _Spec) -> list[str]:
    return [name for name, (_, shape) in spec["inputs"].items() if shape is not None]


def _written(spec: _Spec) -> dict[str, str]:
    """The input that each output in place lies in."""
    outputs, places = [*spec["outputs"]], _arrays_of(spec)
    return {outputs[number]: places[place] for number, place, _ in spec.get("inplace", ())}


def _schema(spec: _Spec, words: Sequence[str]) -> str:
    """The operator's signature, as torch writes it."""
    marks = {name: f"({chr(ord('a') + number)}!)" for number, name in enumerate(dict.fromkeys(_written(spec).values()))}
    kinds = []
    for name, (dtype, shape) in spec["inputs"].items():
        number = "bool" if dtype == "bool" else "float" if "f" in dtype else "SymInt"
        kinds.append(number if shape is None else f"Tensor{marks.get(name, '')}")
    given = [f"{kind} {word}" for kind, word in zip(kinds, words, strict=False)]
    given += ["*", *(f"SymInt {word}" for word in words[len(kinds) :])] if len(words) > len(kinds) else []
    made = ["Tensor"] * (len(spec["outputs"]) - len(_written(spec)))
    return f"({', '.join(given)}) -> {made[0] if len(made) == 1 else '(' + ', '.join(made) + ')'}"


def _twin(torch: Any, spec: _Spec, words: Sequence[str]) -> Callable[..., Any]:
    """The fake function: the outputs that a call returns, as torch describes tensors without data; sizes may be symbols."""
    shapes, sizes = _compiled(f"{spec['name']} of torch", _shapes(spec))(torch), words[len(spec["inputs"]) :]

    def fake(*given: Any, **told: Any) -> Any:
        made = shapes(*given, *(told[size] for size in sizes))
        return made[0] if len(made) == 1 else made or None

    return fake


def _shapes(spec: _Spec) -> Iterator[str]:
    """The text of it: what the launcher asks of dtypes and shapes, then an empty tensor for each output that is not in place."""
    title = repr(spec["name"])
    yield "def made(torch):"
    yield f"    def fake({', '.join([*(f'v_{name}' for name in spec['inputs']), *(f'n_{size}' for size in _told(spec))])}):"
    for name in _arrays_of(spec):
        dtype, shape = spec["inputs"][name]
        yield f"        _beside({title}, {_arrays_of(spec)[0]!r}, v_{_arrays_of(spec)[0]}, {name!r}, v_{name})"
        yield f"        _described({title}, {name!r}, v_{name}, torch.{_HELD[dtype][0][0]}, {_shown(shape)!r}, {len(shape)})"
    for size, (name, axis, offset, factor) in spec["solved"].items():
        plain = spec["inputs"][name][1][axis] == size
        value = f"v_{name}.shape[{axis}]"
        yield f"        n_{size} = {value if plain else f'({value} - ({_python(offset)})) // {_python(factor)}'}"
    for name in _arrays_of(spec):
        shape = spec["inputs"][name][1]
        yield f"        for axis, (has, wants) in enumerate(zip(v_{name}.shape, {_extents(shape)})):"
        yield f"            torch._check(has == wants, lambda: _unlike({title}, {name!r}, v_{name}, {_shown(shape)!r}, {_known(spec)}))"
    first, inside = f"v_{_arrays_of(spec)[0]}", _written(spec)
    rest = {name: row for name, row in spec["outputs"].items() if name not in inside}
    made = (f"{first}.new_empty({_extents(shape)}, dtype=torch.{_HELD[dtype][0][0]}), " for dtype, shape in rest.values())
    yield f"        return ({''.join(made)})"
    yield "    return fake"


def _described(function: str, name: str, value: Any, dtype: Any, shape: str, rank: int) -> None:
    """A tensor without data is of the dtype and rank that the kernel takes."""
    wanted = f"{name} must be {_article(str(dtype).removeprefix('torch.'))} array of shape {shape}"
    if value.dtype != dtype:
        _fail(
            TypeError,
            "TG802",
            function,
            f"{wanted}; its dtype is {str(value.dtype).removeprefix('torch.')}. Convert it with {name}.to({dtype})",
        )
    if value.dim() != rank:
        _fail(
            ValueError, "TG803", function, f"{wanted}; its shape is {tuple(value.shape)}, of rank {value.dim()} instead of {rank}"
        )


def _beside(function: str, first: str, one: Any, name: str, value: Any) -> None:
    """Tensors are on one device, also where some have no data: torch asks the fake twin where any has none."""
    if one.device != value.device:
        _fail(
            ValueError,
            "TG809",
            function,
            f"all arrays have to be on one device; {first} is on {one.device} and {name} is on {value.device}",
        )


def _unlike(function: str, name: str, value: Any, shape: str, sizes: Mapping[str, Any]) -> str:
    known = ", ".join(f"{size} = {number}" for size, number in sizes.items())
    return f"TG804 {function}: {name} has shape {tuple(value.shape)}, which has to be {shape} with {known}"


def _called(torch: Any, launcher: Callable[..., Any], spec: _Spec) -> Callable[..., Any]:
    """What runs: the launcher itself, but where outputs are in place: then it is given these."""
    inside = _written(spec)
    if not inside:
        return launcher
    names, outputs = [*spec["inputs"]], spec["outputs"]
    rest = [name for name in outputs if name not in inside]
    empty = _compiled(f"{spec['name']} of torch", _shapes(spec))(torch)
    places = {name: names.index(inside[name]) for name in inside}

    def in_place(*given: Any, **told: Any) -> Any:
        made = dict(zip(rest, empty(*given, *told.values()) if rest else (), strict=True))
        out = tuple(given[places[name]] if name in places else made[name] for name in outputs)
        launcher(*given, **told, out=out if len(out) > 1 else out[0])
        torch.autograd.graph.increment_version([given[place] for place in places.values()])
        return tuple(made.values()) if len(made) > 1 else next(iter(made.values()), None)

    return in_place


# ── gradients ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _links(title: str, spec: _Spec, tables: Sequence[_Spec]) -> list[_Link]:
    """Of each launcher of gradients what it takes and gives, if these are names of this one's arrays and numbers and of their gradients; and the sizes that it has to be told, as
    an extent of an input whose gradient it gives."""
    known = {*spec["inputs"], *spec["outputs"], *(f"d{name}" for name in spec["outputs"])}
    wanted, seen, links = {f"d{name}" for name in _arrays_of(spec)}, set[str](), list[_Link]()
    if _written(spec):
        _fail(ValueError, "TG943", title, "is in place: what its gradient needs is overwritten")
    for table in tables:
        odd = [name for name in table["inputs"] if name not in known] or [
            name for name in table["outputs"] if name not in wanted - seen
        ]
        places = {extent: (name[1:], axis) for name, (_, shape) in table["outputs"].items() for axis, extent in enumerate(shape)}
        if odd or not places.keys() >= {*_told(table)}:
            names = ", ".join(odd or _told(table))
            said = f"{table['name']} has {names}; it may take {', '.join(sorted(known))} and give each of {', '.join(sorted(wanted))} once"
            _fail(ValueError, "TG943", title, said)
        seen |= set(table["outputs"])
        links.append(([*table["inputs"]], [*table["outputs"]], {size: places[size] for size in _told(table)}))
    return links


def _differentiable(torch: Any, library: Any, title: str, spec: _Spec, ops: Sequence[Any], links: Sequence[_Link]) -> None:
    """Tell autograd: what is kept is what the gradients take; where one is asked for that nobody gives, the call is refused."""
    names, outputs = [*spec["inputs"]], [*spec["outputs"]]
    given, taken = {name for _, gives, _ in links for name in gives}, {name for takes, _, _ in links for name in takes}
    arrays, places = _arrays_of(spec), {name: place for place, name in enumerate((*names, *outputs))}
    tensors = [name for name in (*arrays, *outputs) if name in taken]
    numbers = [name for name in names if name in taken and name not in arrays]
    saved, told = [places[name] for name in tensors], [(name, places[name]) for name in numbers]
    ungiven = [(name, place) for name, place in places.items() if name in arrays and f"d{name}" not in given]
    silent = [places[name] for name in outputs if f"d{name}" not in taken]
    wanted = [{size: (places[name], axis) for size, (name, axis) in sizes.items()} for _, _, sizes in links]
    sized, plain = any(wanted), [dict[str, int]() for _ in wanted]

    def kept(ctx: Any, inputs: tuple[Any, ...], output: Any, **_: Any) -> None:
        values = (*inputs, *(output if len(outputs) > 1 else (output,)))
        if ungiven:
            asked = ctx.needs_input_grad
            for name, place in ungiven:
                if asked[place]:
                    _ungiven(title, name)
        if silent:
            ctx.mark_non_differentiable(*(values[place] for place in silent))
        ctx.save_for_backward(*[values[place] for place in saved])
        if told:
            ctx.numbers = {name: values[place] for name, place in told}
        if sized:
            ctx.sizes = [{size: values[place].shape[axis] for size, (place, axis) in sizes.items()} for sizes in wanted]

    def gradient(ctx: Any, *grads: Any) -> Any:
        values = dict(zip(tensors, ctx.saved_tensors, strict=True)) | (ctx.numbers if told else {})
        changed = ((name, grad) for name, grad in zip(outputs, grads, strict=True) if f"d{name}" in taken)
        values |= {f"d{name}": grad.contiguous() for name, grad in changed}  # of a sum, all are one number in memory
        found: dict[str, Any] = {}
        for op, (takes, gives, _), sizes in zip(ops, links, ctx.sizes if sized else plain, strict=True):
            made = op(*(values[name] for name in takes), **sizes)
            found |= dict(zip(gives, made if len(gives) > 1 else (made,), strict=True))
        return tuple(found.get(f"d{name}") for name in names)

    torch.library.register_autograd(title, gradient, setup_context=kept, lib=library)


def _ungiven(title: str, name: str) -> NoReturn:
    said = (
        f"{name} requires a gradient, and no launcher of backward= gives d{name}. Pass {name}.detach(), or register one that does"
    )
    _fail(ValueError, "TG943", title, said)
