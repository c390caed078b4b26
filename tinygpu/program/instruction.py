"""Instructions: the names that kernels of a GPU use, what makes each of the runtime, and what it is.

Comes in: nothing. Goes out: a row for each name. The one idea: who prints a kernel asks a row how its name is made, and who reads one what was
made; so an instruction is a function of the runtime and a row here.

    >>> [INSTRUCTIONS[name][0] for name in ("load4", "streaming_store4", "shared_atomic_sum", "shuffle_xor", "sinf", "expf")]
    ['wide_load(4)', "wide_store(4, 'streaming')", "atomic('sum', 'shared')", "shuffle('xor')", "angle_function('sinf')", 'names.expf']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygpu.category.dtype import INTEGERS, NARROW, NATIVE, NIBBLES, PACKED, ROUNDED, UNSIGNED
from tinygpu.category.monoid import ATOMICS
from tinygpu.category.operation import COUNTS, FUNCTION
from tinygpu.category.term import reads
from tinygpu.model.collective import Instruction
from tinygpu.program.call import FILL, PREFETCH, Call, Commit, Enter, Fence, Leave, Registers, Reserve, Sent, Sync, Wait
from tinygpu.record import dataclass

MOST_LANES = 128  # of a vector loop whose accesses are wide: a thread holds its elements; a longer one is a loop
MOST_GROUPS = 15  # of copies, that a wait may leave under way
CONVERSIONS = (
    *(f"{packed}_{way}" for packed in PACKED for way in ("bits", "value")),
    *(f"round_{dtype}" for dtype in ROUNDED),
    *(f"trunc_{kind}" for kind in INTEGERS if kind not in NARROW),
)


@dataclass(frozen=True, slots=True)
class Atom:
    """What the prelude gives a name: `type`, `function`, `conversion`, `shuffle`, `load`, `store`, `copy`, `atomic`, `shared`, `cuda`, `inf`, …; a
    `call` is all that is done for a step."""

    what: str
    name: str = ""
    number: int = 0
    shared: bool = False
    kinds: tuple[str, ...] = ()  # what a function is for

    @property
    def waits(self) -> bool:
        """Whether it is of what lands later, so that nothing is moved over it."""
        return self.what == "matrix" and (
            any(later in self.name for later in ("wgmma.", "tcgen05.", "fence.")) or not self.name.startswith("matrix(")
        )


Rows = Mapping[str, tuple[str, Atom]]
OF_NAMES: Rows = {  # attributes of what `cuda_names` gives
    **{name: (f"names.{name}", Atom("type", name)) for name in (*NATIVE, "ix")},
    **{name: (f"names.{name}", Atom(name)) for name in ("cuda", "inf", "pointer", "void")},
}
FUNCTIONS: Rows = {
    name: (f"angle_function({name!r})" if row.angle else f"names.{name}", Atom("function", row.name, kinds=(kind,)))
    for row in FUNCTION.values()
    for name, kind in ((row.cuda, "f64"), (f"{row.cuda}f", "f32"))
    if row.cuda
}
MOVES: Rows = {  # `streaming` is a hint to the caches
    f"{space}{'_' * bool(space)}{move}{count}": (
        f"wide_{move}({count}{f', {space!r}' * bool(space)})",
        Atom(move, "", count, space == "shared"),
    )
    for move, spaces in (("load", ("", "shared")), ("store", ("", "shared", "streaming")))
    for space in spaces
    for count in range(1, MOST_LANES + 1)
}
COPIES: Rows = {
    **{f"copy{count}": (f"wide_copy({count})", Atom("copy", "", count)) for count in range(1, MOST_LANES + 1)},
    "copies_commit": ("copies('commit')", Atom("call", "copies_commit")),
    **{f"copies_wait{n}": (f"copies('wait', {n})", Atom("call", f"copies_wait{n}")) for n in range(MOST_GROUPS + 1)},
}
HINTS: Rows = {PREFETCH: ("hint()", Atom("call", PREFETCH))}
UPDATES: Rows = {
    f"{'shared_' * shared}atomic_{update}": (
        f"atomic({update!r}, {'shared' if shared else 'global'!r})",
        Atom("atomic", update, 0, shared),
    )
    for update in ATOMICS
    for shared in (False, True)
}
INSTRUCTIONS: Rows = {
    **OF_NAMES,
    **FUNCTIONS,
    **{name: (f"count({name!r})", Atom("function", name, kinds=UNSIGNED)) for name in COUNTS},
    **MOVES,
    **COPIES,
    **HINTS,
    **UPDATES,
    **{n: (f"division({n!r})", Atom("division", op)) for n, op in (("div", "floordiv"), ("mod", "mod"), ("ceil", "ceildiv"))},
    **{name: (f"conversion({name!r})", Atom("conversion", name)) for name in CONVERSIONS},
    **{f"shuffle_{way}": (f"shuffle({way!r})", Atom("shuffle", way)) for way in ("xor", "up", "down", "idx", "up_any", "down_any")},
    "upto": ("counted()", Atom("upto")),
    "unrolled": ("counted('unrolled')", Atom("upto")),
    "between": ("counted('between')", Atom("between")),
    "uniform": ("warp_number()", Atom("uniform")),
    "constant": ("constant_memory()", Atom("constant")),
    "shared": ("shared_memory(0)", Atom("shared")),
}


def matrix(one: Instruction, behind: Mapping[str, int] = {}, columns: int = 0) -> str:
    """What makes an instruction that many lanes run: its text, and of each operand whether it is read or written, and the cells of a lane; or the
    descriptor of one that is `behind` such; or of one in tensor memory how many rows and `columns` its array has, and whether each warp reaches its own lanes.

    >>> from tinygpu.model.instruction import shipped
    >>> matrix(shipped("ldmatrix_x2")[0])
    "matrix('ldmatrix.sync.aligned.m8n8.x2.shared.b16 {f}, [{s}];', 'f:w:4 s:row')"
    """
    (equation,) = one.op.equations
    read = {r.tensor for r in reads(equation.value)} | ({equation.target} if one.update else set())
    ways = {o.name: "r" * (o.name in read) + "w" * (o.name == equation.target) for o in one.operands}
    other = {o.name: f":{o.dtype}" * (o.dtype == "tf32" or o.dtype in NIBBLES) for o in one.operands}
    form = (
        f"{o.name}:{ways[o.name]}:{o.count}{other[o.name]}"
        if o.kind == "fragment"
        else f"{o.name}:tile:{behind[o.name]}"
        if o.name in behind
        else f"{o.name}:tensor:{o.shape[0]}:{columns}:{one.level}"
        if o.kind == "tensor"
        else f"{o.name}:row"
        for o in one.operands
    )
    return f"matrix({one.ptx!r}, {' '.join(form)!r})"


def in_order(step: Call, flight: Sequence[tuple[str, int]]) -> str:
    """What makes a step that orders what lands later on a unit of its own, or what the blocks of a cluster do; empty for any other. What is under way is in registers,
    so many of each array of a `flight`: nobody reads them before a wait, nor writes them after a fence.

    >>> in_order(Wait(1, "mma"), [("acc", 64)])
    "matrix('wgmma.wait_group.sync.aligned 1;', 'acc:rw:64')"
    """
    match step:
        case Wait(count, "mma"):
            text, held = f"wgmma.wait_group.sync.aligned {count};", flight
        case Commit("mma"):
            text, held = "wgmma.commit_group.sync.aligned;", ()
        case Fence("mma"):
            text, held = "wgmma.fence.sync.aligned;", flight
        case Fence("async"):
            text, held = "fence.proxy.async.shared::cta;", ()
        case Sync("cluster"):
            text, held = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;", ()
        case _:
            return ""
    return f"matrix({text!r}, {' '.join(f'{name}:rw:{count}' for name, count in held)!r})"


def in_tensor_memory(step: Call) -> str:
    """What makes a step of a kernel whose block has tensor memory: it takes columns and gives them back, ends groups of products and waits for them; and its barriers
    order tensor memory too. Empty for any other.

    >>> from tinygpu.program.call import FIFTH
    >>> [in_tensor_memory(step) for step in (Reserve("acc", 256, "begin"), Commit(FIFTH), Wait(0, FIFTH), Sync(), Sync("warp"))]
    ["tensor('begin', 256)", "tensor('commit')", "tensor('wait', 0)", "tensor('barrier')", '']
    """
    match step:
        case Reserve(_, columns, way):
            return f"tensor({way!r}, {columns})"
        case Commit("tcgen05"):
            return "tensor('commit')"
        case Wait(count, "tcgen05"):
            return f"tensor('wait', {count})"
        case Sync("block", begins=None):
            return "tensor('barrier')"
    return ""


def set_registers(step: Registers) -> str:
    """What makes a call that sets the registers of a thread.

    >>> set_registers(Registers(40, "dec"))
    "registers(40, 'dec')"
    """
    return f"registers({step.count}, {step.way!r})"


def of_ring(step: Enter | Leave, slots: int, roles: tuple[int, int], blocks: int = 1) -> str:
    """What makes a call of a ring of so many slots, which so many warps fill, and use; those of so many blocks, that fill the slots of each other.

    >>> from tinygpu.category.term import Const
    >>> [of_ring(one, 4, (1, 8)) for one in (Enter("r", "begin", Const(0)), Enter("r", "use", Const(0)), Leave("r", "use", Const(0), 1))]
    ["ring('begin', 4, 1, 8)", "ring('use', 4)", "ring('used', 4, 1)"]
    >>> [of_ring(one, 4, (1, 8), 2) for one in (Enter("r", "begin", Const(0)), Enter("r", "fill", Const(0)), Leave("r", "use", Const(0), 1))]
    ["ring('begin', 4, 1, 8, 2)", "ring('fill', 4, 2)", "ring('used', 4, 1, 2)"]
    """
    more = f", {blocks}" if blocks > 1 else ""
    match step:
        case Enter(_, "begin"):
            return f"ring('begin', {slots}, {roles[0]}, {roles[1]}{more})"
        case Enter(_, way):
            return f"ring({way!r}, {slots}{more if way == FILL else ''})"
        case Leave(_, way, _, behind):
            return f"ring('filled', {slots})" if way == FILL else f"ring('used', {slots}, {behind}{more})"


def box_copy(one: Sent, slots: int) -> str:
    """What makes the copy of a box, which a ring of so many slots is told of."""
    return f"tensor_copy({len(one.extents)}, {slots}, {one.bytes}{f', {one.mask}' if one.parts > 1 else ''})"
