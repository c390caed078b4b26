"""The launcher of a machine: the typed function that users call, which checks everything that the proof assumed.

Comes in: a program, and the terms that have to stay below 2³¹ for the 32-bit kernels. Goes out: Python source of one function.
The one idea: every check is one line of the emitted text in the spec's own names, so a reader sees the contract where it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from tinygpu.category.term import TRUE, App, Const, Term, Var, text, walk
from tinygpu.emit.cpu import cpu_name
from tinygpu.emit.cuda import Parameter, kernel_parameters
from tinygpu.emit.data import of_data, promises
from tinygpu.emit.data_text import check_lines
from tinygpu.emit.python import Lines, block, docstring, source
from tinygpu.emit.sizes import Solved, divisors, python, solve
from tinygpu.emit.spelled import Spelled, quoted, spell
from tinygpu.hardware.arch import CPU
from tinygpu.model.op import Op, Tensor
from tinygpu.program.step import Program, Workspace
from tinygpu.program.wide import wide_accesses

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
CPU_MAX = 2**63 - 2**32  # a CPU kernel has indices of 64 bits, and loops that count beyond their ends


def launcher_source(
    program: Program,
    limits: tuple[Term, ...] = (),
    header: tuple[str, ...] = (),
    cpu: tuple[Workspace, ...] | None = None,
    cpu_limits: tuple[Term, ...] = (),
) -> str:
    """`program → source of def NAME(inputs, *, sizes no input tells, out=None, stream=None)`.

    Where launches leave something for later ones, there is also `workspace=None`: like `out`, an array for each, or none, and they are made.
    Where the data is promised something, there is `check_data=False`: with True the promise is checked before anything is launched.
    `limits` are terms over the sizes that the 32-bit kernels need to be at most 2³¹ - 1; `header` are paragraphs of the docstring.
    `cpu` are the workspaces of the CPU kernels: the program's, and others that are made at each call; `cpu_limits` what they count to.
    """
    spelled = spell(program)
    solved, missing = solve(program.op)
    body = docstring(*header) if header else []
    body += _inputs(spelled)
    body += _sizes(spelled, solved, missing)
    body += _preconditions(spelled)
    body += _outputs(spelled)
    body += _workspaces(spelled)
    body += _launch(spelled, limits, program.workspaces if cpu is None else cpu, cpu_limits)
    return source(block(_signature(spelled, missing), body))


def _signature(spelled: Spelled, missing: tuple[str, ...]) -> str:
    return f"def {spelled.function}({parameters(spelled, missing)}) -> {result_type(spelled.program.op)}"


def parameters(spelled: Spelled, missing: tuple[str, ...]) -> str:
    """The launcher's parameters with their types: inputs in order, then by keyword the sizes that no input tells, `out`, `stream`."""
    inputs = [f"{spelled.names[t.name]}: {'Array' if t.shape else _scalar_type(t.dtype)}" for t in spelled.program.op.inputs]
    keywords = [f"{spelled.names[s]}: int" for s in missing] + ["out: Array = None", "stream: Any = None"]
    keywords += ["workspace: Array = None"] if spelled.program.workspaces else []
    keywords += ["check_data: bool = False"] if promises(spelled.program) else []
    return ", ".join([*inputs, "*", *keywords])


def result_type(op: Op) -> str:
    """One array, or a tuple of them."""
    return "Array" if len(op.outputs) == 1 else f"tuple[{', '.join('Array' for _ in op.outputs)}]"


def _scalar_type(dtype: str) -> str:
    return "bool" if dtype == "bool" else "float" if "f" in dtype else "int"


def _inputs(spelled: Spelled) -> Lines:
    lines = []
    for tensor in spelled.program.op.inputs:
        name = spelled.names[tensor.name]
        if tensor.shape:
            seen = f"_view({spelled.title}, {quoted(tensor.name)}, {name}, {quoted(tensor.dtype)}, {quoted(_shown(tensor))}, {len(tensor.shape)})"
            lines.append(f"{spelled.view(tensor)} = {seen}")
        else:
            lines.append(
                f"{spelled.view(tensor)} = _scalar({spelled.title}, {quoted(tensor.name)}, {name}, {quoted(tensor.dtype)})"
            )
    return lines


def _shown(tensor: Tensor) -> str:
    return f"[{', '.join(map(text, tensor.shape))}]"


def _sizes(spelled: Spelled, solved: tuple[Solved, ...], missing: tuple[str, ...]) -> Lines:
    """Every size from a shape or a keyword, then every extent against the sizes."""
    op, names = spelled.program.op, spelled.names
    lines = [f"{names[s]} = _size_given({spelled.title}, {quoted(s)}, {names[s]})" for s in missing]
    for found in solved:
        place: Term = Var(f"{spelled.view(op.tensor(found.tensor))}.shape[{found.axis}]")
        value = App("floordiv", (place - found.offset, found.factor)) if found.factor != Const(1) else place - found.offset
        lines.append(f"{names[found.size]} = {python(value, names)}")
    if not op.sizes:
        return [*lines, *_shape_checks(spelled, (), "{}")]
    entries = ", ".join(f"{quoted(s)}: {names[s]}" for s in op.sizes)
    lines.append(f"_sizes = {{{entries}}}")
    return lines + _shape_checks(spelled, solved, "_sizes")


def _shape_checks(spelled: Spelled, solved: tuple[Solved, ...], sizes: str) -> Lines:
    lines: Lines = []
    plain = {(s.tensor, s.axis) for s in solved if isinstance(spelled.program.op.tensor(s.tensor).shape[s.axis], Var)}
    for tensor in spelled.program.op.inputs:
        if all((tensor.name, axis) in plain for axis in range(len(tensor.shape))):
            continue
        view, shape = spelled.view(tensor), spelled.shape(tensor)
        signs = [f"{spelled.names[s.size]} < 0" for s in solved if s.tensor == tensor.name and (s.tensor, s.axis) not in plain]
        tests = " or ".join([*signs, f"{view}.shape != {shape}"])
        lines += block(f"if {tests}", [f"_shape_error({spelled.title}, {view}, {quoted(_shown(tensor))}, {shape}, {sizes})"])
    return lines


def _preconditions(spelled: Spelled) -> Lines:
    """Every `where` of the op and the machine. A divisor that is 0 counts as a precondition that does not hold."""
    lines: Lines = []
    for guard in dict.fromkeys((*spelled.program.op.where, *spelled.program.where)):
        if of_data(guard):
            continue  # checked only where the caller asks for it
        tests = [f"{python(d, spelled.names, 5)} == 0" for d in divisors(guard)]
        tests.append(f"not {python(guard, spelled.names, 9)}")
        lines += block(f"if {' or '.join(tests)}", [f"_precondition({spelled.title}, {quoted(text(guard))}, _sizes)"])
    return lines


def _outputs(spelled: Spelled) -> Lines:
    """Outputs made, or those of `out=` checked; data, where that is asked for; then the early return, if all outputs are empty."""
    op, title = spelled.program.op, spelled.title
    inputs = _tuple(spelled.view(t) for t in op.inputs if t.shape)
    lines = _output_extents(spelled) + [f"_first = _same_device({title}, {inputs})"]
    lines += _arrays(spelled, "out", op.outputs, "_first", inputs)
    lines += check_lines(spelled)[0]
    empty = " and ".join(f"not {spelled.view(t)}.nbytes" for t in op.outputs)
    return lines + block(f"if {empty}", [f"return {_result(spelled)}"])


def _workspaces(spelled: Spelled) -> Lines:
    """Workspaces made, or those of `workspace=` checked: they live where the outputs do, and share no memory with anything."""
    op = spelled.program.op
    spaces = tuple(Tensor(w.name, w.dtype, w.extents, "workspace") for w in spelled.program.workspaces)
    if not spaces:
        return []
    others = _tuple(spelled.view(t) for t in op.tensors if t.shape or t.role == "output")
    return _arrays(spelled, "workspace", spaces, spelled.view(op.outputs[0]), others)


def _arrays(spelled: Spelled, keyword: str, tensors: tuple[Tensor, ...], like: str, others: str) -> Lines:
    """The arrays of a keyword: made where `like` is, or looked at; those given share no memory with `others`."""
    title, views = spelled.title, [spelled.view(t) for t in tensors]
    made = [
        f"{v} = _allocate({title}, {quoted(t.name)}, {like}, {quoted(t.dtype)}, {spelled.shape(t)}, stream)"
        for v, t in zip(views, tensors, strict=True)
    ]
    named = "" if keyword == "out" else f", {quoted(keyword)}"
    given = [f"{_tuple(views)} = _given({title}, {keyword}, {len(views)}{named})"]
    for number, (view, tensor) in enumerate(zip(views, tensors, strict=True)):
        name = keyword if len(views) == 1 else f"{keyword}[{number}]"
        shown = f"{quoted(tensor.dtype)}, {quoted(_shown(tensor))}, {len(tensor.shape)}"
        given.append(f"{view} = _writable({title}, {quoted(name)}, {view}, {shown})")
        sizes = "_sizes" if spelled.program.op.sizes else "{}"
        wrong = f"_shape_error({title}, {view}, {quoted(_shown(tensor))}, {spelled.shape(tensor)}, {sizes})"
        given += block(f"if {view}.shape != {spelled.shape(tensor)}", [wrong])
    given.append(f"_same_device({title}, {_sum(others, _tuple(views))})")
    given.append(f"_distinct({title}, {_tuple(views)}, {others})")
    return block(f"if {keyword} is None", made) + block("else", given)


def _output_extents(spelled: Spelled) -> Lines:
    """An output's extent may come out negative where it is a difference of sizes; then no output fits."""
    lines: Lines = []
    for tensor in spelled.program.op.outputs:
        risky = [e for e in tensor.shape if any(isinstance(t, App) and t.op in ("sub", "neg") for t in walk(e))]
        if risky:
            tests = " or ".join(f"{python(e, spelled.names, 5)} < 0" for e in risky)
            condition = f"{tensor.name} of shape {_shown(tensor)} exists, so every extent is at least 0"
            lines += block(f"if {tests}", [f"_precondition({spelled.title}, {quoted(condition)}, _sizes)"])
    return lines


def _tuple(parts: Iterable[str]) -> str:
    parts = list(parts)
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _sum(first: str, second: str) -> str:
    return second if first == "()" else f"{first} + {second}"


def _result(spelled: Spelled) -> str:
    owners = [f"{spelled.view(t)}.owner" for t in spelled.program.op.outputs]
    return owners[0] if len(owners) == 1 else f"({', '.join(owners)})"


def _launch(spelled: Spelled, limits: tuple[Term, ...], spaces: tuple[Workspace, ...], cpu_limits: tuple[Term, ...]) -> Lines:
    """The kernels of the device that the outputs are on."""
    op, title = spelled.program.op, spelled.title
    device = f"{spelled.view(op.outputs[0])}.device"
    arguments = [f"{spelled.view(t)}.base" if t.shape or t.role == "output" else spelled.view(t) for t in op.tensors]
    arguments += [_space(spelled, w) for w in spaces] + [spelled.names[s] for s in op.sizes]
    cpu = _refused(spelled, cpu_limits, CPU_MAX) if cpu_limits else []
    cpu += [f"_no_stream({title}, stream)", f"_on_cpu({cpu_name(spelled.program)}, {', '.join(arguments)})"]
    other = [_elsewhere(spelled)] if spelled.program.arch == CPU else [*_width(spelled, limits), *_launch_cuda(spelled)]
    return block(f"if {device} < 0", cpu) + block("else", other) + [f"return {_result(spelled)}"]


def _elsewhere(spelled: Spelled) -> str:
    """A machine on cpu refuses arrays on a GPU."""
    message = "is written for a CPU, and these arrays are on a GPU: copy them to the CPU, or build a machine for a GPU"
    return f'_fail(TypeError, "TG818", {spelled.title}, {quoted(message)})'


def _space(spelled: Spelled, space: Workspace) -> str:
    """A workspace of the CPU kernels: one of the launcher's, or made here."""
    if space in spelled.program.workspaces:
        return f"{spelled.views[space.name]}.base"
    like, shape = spelled.view(spelled.program.op.outputs[0]), spelled.shape(Tensor(space.name, space.dtype, space.extents, ""))
    return f"_allocate({spelled.title}, {quoted(space.name)}, {like}, {quoted(space.dtype)}, {shape}, None).base"


def _width(spelled: Spelled, limits: tuple[Term, ...]) -> Lines:
    """The bits of an index: 32 where the proof says that they are enough, else 64, where everything has to fit those."""
    terms = _terms(spelled, limits)
    narrow = " and ".join(f"{t} <= {INT32_MAX}" for t in terms)
    if not terms:
        return ["_bits = 32"]
    lines = [f"_bits = 32 if {narrow} else 64"] if len(narrow) < 90 else ["_bits = 64", *block(f"if {narrow}", ["_bits = 32"])]
    return lines + _refused(spelled, limits, INT64_MAX, "_bits == 64 and ")


def _terms(spelled: Spelled, limits: tuple[Term, ...]) -> list[str]:
    scalars = {t.name: spelled.view(t) for t in spelled.program.op.inputs if not t.shape}
    return [python(t, spelled.names | scalars, 5) for t in limits]


def _refused(spelled: Spelled, limits: tuple[Term, ...], largest: int, where: str = "") -> Lines:
    """Calls with so large sizes that an index does not fit."""
    sizes = "_sizes" if spelled.program.op.sizes else "{}"
    wrong = f"_too_large({spelled.title}, {quoted(' and '.join(map(text, limits)))}, {largest}, {sizes})"
    return block(f"if {where}max({', '.join(_terms(spelled, limits))}, 0) > {largest}", [wrong])


def _launch_cuda(spelled: Spelled) -> Lines:
    """One call for each launch: the device's view, the stream, the variant, the blocks, then the kernel's own arguments."""
    program, op, title = spelled.program, spelled.program.op, spelled.title
    view = spelled.view(op.outputs[0])
    wides = [w for w in wide_accesses(program) if not w.shared]
    widths: dict[str, int] = {}
    for wide in wides:
        widths[wide.tensor] = max(wide.bytes, widths.get(wide.tensor, 0))
    asks = [python(g, spelled.names, 3) for g in dict.fromkeys(w.asks for w in wides) if g != TRUE]
    pairs = [f"({spelled.views[name]}, {size})" for name, size in widths.items()]
    wide_text = " and ".join([*asks, f"_aligned({', '.join(pairs)})"]) if wides else "False"
    arrays = ", ".join(spelled.view(t) for t in op.tensors if t.shape or t.role == "output")
    lines = [f"_stream = _stream_of({title}, stream, {arrays})"]
    lines += [f"_wide = {wide_text}", "_index = np.int32 if _bits == 32 else np.int64"]
    arguments = ", ".join(_kernel_argument(spelled, p) for p in kernel_parameters(program))
    for number, launch in enumerate(program.launches):
        blocks = python(launch.blocks, spelled.names)
        if not isinstance(launch.blocks, Const):
            wrong = f"_too_large({title}, {quoted('the number of blocks, ' + text(launch.blocks) + ',')}, {INT32_MAX}, _sizes)"
            lines += [f"_blocks = {blocks}", *block(f"if _blocks > {INT32_MAX}", [wrong])]
            blocks = "_blocks"
        lines.append(f"{cuda_object(spelled.function, program, number)}({view}, _stream, _bits, _wide, {blocks}, {arguments})")
    return lines


def cuda_object(function: str, program: Program, number: int) -> str:
    """The module's name for the compiled kernels of a launch."""
    return f"_{function}_cuda" + (f"_{number}" if len(program.launches) > 1 else "")


def _kernel_argument(spelled: Spelled, parameter: Parameter) -> str:
    """A kernel's argument: the address of an array, a scalar as memory holds it, a size with the bits of an index."""
    match parameter.kind:
        case "pointer":
            return f"{spelled.views[parameter.name]}.pointer"
        case "scalar":
            return f"_memory({spelled.views[parameter.name]}, {quoted(spelled.program.op.tensor(parameter.name).dtype)})"
        case _:
            return f"_index({spelled.names[parameter.name]})"
