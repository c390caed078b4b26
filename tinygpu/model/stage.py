"""Stages: what a block copies into shared memory, when, and how its threads share the work.

Comes in: the `stage` clauses of a launch, its phases and its work object. Goes out: one `Stage` for each clause.
The one idea: the body of a stage is a machine of its own, whose indices are those of the tile and whose work object is the block. Of the
access a name that is an index of the equations stands for itself, and any other name for whatever stands at that axis.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.dtype import BYTES
from tinygpu.category.owner import Arrow
from tinygpu.category.term import Axis, Const, Read, Term, Var, substitute, walk
from tinygpu.model.clauses import Clauses
from tinygpu.model.machine import Launch, Phase, inlined
from tinygpu.model.op import Equation, Op
from tinygpu.model.problems import listing
from tinygpu.model.scope import Scope
from tinygpu.model.stage_copy import default_copy, laid_out, shared_out, threads_of
from tinygpu.model.tile import BLOCK, TENSOR, Factors, Side, Sought, Stage, side
from tinygpu.model.value import index
from tinygpu.model.work import Factor
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree

RING = 16  # tiles that may take turns
IN_A_STAGE = tree.Work | tree.Compute | tree.Own | tree.Binding | tree.Layout


@dataclass(frozen=True, slots=True)
class Around:
    """The launch that the stages stand in: its op, its factors, what holds, and the scope of its clauses."""

    op: Op
    launch: Launch
    table: Mapping[str, Factor]
    where: Term
    scope: Scope

    def factors(self, at: str) -> Factors:
        """All factors, and those inside a place: what a block has of its own in one turn of the loop there."""
        grid, block, time = self.launch.grid, self.launch.block, self.launch.time
        axes = {a.name: a for a in (*grid, *block, *(a for p in self.launch.phases for a in p.owner.domain.axes))}
        outer = {a.name for a in grid} | set(time[: time.index(at) + 1] if at in time else ())
        return Factors(tuple(axes.values()), frozenset(axes) - outer)

    def reads_of(self, sought: Sought) -> list[tuple[Phase, Read]]:
        """The reads of all equations that a stage serves, and what one stores of an output."""
        values = inlined(self.launch.phases, (sought,))
        found = ((phase, t) for phase in self.launch.phases for t in walk(values[phase.equation.target]))
        reads = [(phase, t) for phase, t in found if isinstance(t, Read) and t.tensor == sought.name]
        outputs = {t.name: t.dtype for t in self.op.outputs}
        made = [
            (p, Read(n, tuple(Var(a.name) for a in p.equation.axes), outputs[n]))
            for p in self.launch.phases
            if (n := p.equation.target) in outputs
        ]
        return reads + [(phase, t) for phase, t in made if sought.finds(t)]


def staged(launch: Launch, clauses: Clauses, op: Op, table: Mapping[str, Factor], scope: Scope, where: Term) -> Launch:
    """The launch with a `Stage` for each of its clauses; one that is wrong is left out after a message."""
    around = Around(op, launch, table, where, scope)
    made: dict[tuple[str, tuple[str, ...], str], tuple[tree.Stage, Stage]] = {}
    for number, clause in enumerate(clauses.of(tree.Stage)):
        sought = _sought(clause, f"stage {number}", around)
        if sought is None:
            continue
        key = sought.tensor, sought.pattern, sought.at
        if key in made:
            scope.problems.say("TG102.staged", clause.access.span, made[key][0].access.span)
            continue
        sides = _sides(clause, sought, around)
        one = _stage(clause, sought, sides, around) if sides else None
        made |= {key: (clause, one)} if one else {}
    return replace(launch, stages=tuple(stage for _, stage in made.values()))


# ── which reads, and where ─────────────────────────────────────────────────────────────────────────────────────────


def _sought(clause: tree.Stage, name: str, around: Around) -> Sought | None:
    """The reads that the clause speaks of; None after a message."""
    problems, time = around.scope.problems, around.launch.time
    before = len(problems)
    _not_yet(clause, around)
    if clause.at not in (BLOCK, *time):
        factor, places = around.table.get(clause.at), [BLOCK, *time]
        words = {"name": clause.at, "sort": factor.sort if factor else "", "known": listing(places, "or")}
        problems.say("TG541.factor" if factor else "TG541.name", clause.access.span, near=places, **words)
    names = _names(clause, around) if len(problems) == before else ()
    if len(problems) > before:
        return None
    indices = {index for p in around.launch.phases for index in p.owner.by_axis}
    sought = Sought(clause.access.name, tuple(n if n in indices else "" for n in names), _turning(clause.at, around.launch), name)
    return sought if _found(clause, sought, around) else None


def _not_yet(clause: tree.Stage, around: Around) -> None:
    """Says which words of a stage come in a later version."""
    ring = clause.ring is not None
    words = (("async", clause.asynchronous > ring),)
    if clause.by and clause.by.startswith("ldmatrix"):
        around.scope.problems.say("TG546.operand", clause.access.span, by=clause.by)
        return
    if clause.by and (clause.by != TENSOR or not ring or clause.asynchronous):
        around.scope.problems.say("TG546.boxes", clause.access.span, by=clause.by)
    if later := listing(word for word, there in words if there):
        around.scope.problems.say("TG109.stage", clause.access.span, later=later)
    if clause.space != "shared":
        message = "TG109.register" if clause.space == "register" else "TG109.space"
        around.scope.problems.say(message, clause.access.span, space=clause.space)


def _turning(at: str, launch: Launch) -> str:
    """The loop itself; of a loop of one turn, which is none, the next one outside of it that turns, or the block."""
    ones = {a.name for p in launch.phases for a in p.owner.domain.axes if a.extent == Const(1)}
    outer = launch.time[: launch.time.index(at) + 1] if at in launch.time else ()
    return next((name for name in reversed(outer) if name not in ones), BLOCK)


def _names(clause: tree.Stage, around: Around) -> tuple[str, ...]:
    """The names of the tile's axes, one for each axis of the tensor; none after a message."""
    access = clause.access
    known = {t.name: t for t in (*around.op.tensors, *around.op.intermediates)}
    if access.name not in known:
        around.scope.problems.say("TG542.tensor", access.span, near=known, name=access.name, known=sorted(known))
        return ()
    if len(access.index) != len(known[access.name].shape):
        around.scope.wrong_rank(known[access.name], len(access.index), access.span)
        return ()
    names = tuple(i.name for i in access.index if isinstance(i, tree.Name))
    if len(names) < len(access.index) or access.fill is not None or len(set(names)) < len(names):
        around.scope.problems.say("TG542.names", access.span, access=_lettered(access), name=access.name)
        return ()
    return names


def _lettered(access: tree.Cell) -> str:
    """The access with names that no equation is likely to have."""
    return f"{access.name}[{', '.join('abcdefgh'[: len(access.index)])}]"


def _found(clause: tree.Stage, sought: Sought, around: Around) -> bool:
    """Whether some equation has the access; says so if none has."""
    if around.reads_of(sought):
        return True
    name, anywhere = clause.access.name, replace(sought, pattern=("",) * len(sought.pattern))
    message = "TG542.indices" if around.reads_of(anywhere) else "TG542.loop" if sought.at != BLOCK else "TG542.nowhere"
    around.scope.problems.say(message, clause.access.span, name=name, access=_lettered(clause.access), at=sought.at)
    return False


# ── the tile and its copy ──────────────────────────────────────────────────────────────────────────────────────────


def _sides(clause: tree.Stage, sought: Sought, around: Around) -> tuple[Side, ...] | None:
    """The sides of the tile; None after a message."""
    factors = around.factors(sought.at)
    pulled = []
    for phase, read in around.reads_of(sought):
        digits = phase.owner.by_axis
        pulled.append([substitute(term, digits) for term in read.index])
    sides: list[Side] = []
    for axis, name in enumerate(clause.access.index):
        assert isinstance(name, tree.Name)
        made = side(name.name, [index[axis] for index in pulled], factors)
        if isinstance(made, str):
            at = "the whole launch" if sought.at == BLOCK else f"one turn of {sought.at}"
            fix = _smaller(clause, made, around, factors)
            around.scope.problems.say("TG540.extent", name.span, name=name.name, at=at, reason=made, fix=fix)
            return None
        sides.append(made)
    return tuple(sides)


def _smaller(clause: tree.Stage, reason: str, around: Around, factors: Factors) -> str:
    """What to do about a tile without constant extents."""
    long = {a.name for a in factors.axes if not isinstance(a.extent, Const)}
    loops = [n for n in around.launch.time if n in factors.inner and n in long]
    if loops:
        return f"stage it at {loops[-1]}, so that the tile is what one turn of {loops[-1]} needs"
    if reason.startswith("it would hold"):
        return f"accesses that lie far apart are several tiles: stage one of them by its indices, {clause.access.name}[i] and not {clause.access.name}[a]"
    return "cut the index into factors with constant extents"


def _stage(clause: tree.Stage, sought: Sought, sides: tuple[Side, ...], around: Around) -> Stage | None:
    """The tile with its copy and its layout; None after a message."""
    problems = around.scope.problems
    before = len(problems)
    for one in clause.clauses:
        if not isinstance(one, IN_A_STAGE) or (isinstance(one, tree.Compute) and one.equation):
            problems.say("TG543.clause", one.span)
    said = Clauses(tuple(c for c in clause.clauses if isinstance(c, IN_A_STAGE)))
    block, arrow = _copy(clause, said, sides, around)
    vectors = [a.extent.value for a in arrow.domain.axes if a.sort == "vector" and isinstance(a.extent, Const)] if arrow else []
    size = BYTES.get(around.op.tensor(clause.access.name).dtype, 4)
    order, layout = laid_out(said.of(tree.Layout), sides, max(map(int, vectors), default=1), size, around.scope)
    if len(problems) > before or arrow is None:
        return None
    tile = sought.tensor, sought.pattern, sought.at, sought.name, sides
    how = _slots(clause, sought, around), clause.by or "", clause.asynchronous
    return Stage(*tile, order, block, arrow, layout, clause.access.span, *how)


def _slots(clause: tree.Stage, sought: Sought, around: Around) -> int:
    """How many tiles take turns, 0 where it is one; after a message too."""
    if clause.ring is None:
        return 0
    count = index(clause.ring, around.scope.inside_brackets())
    if sought.at != BLOCK and isinstance(count, Const) and 2 <= count.value <= RING:
        return int(count.value)
    around.scope.problems.say("TG546.slots", clause.access.span, at=clause.at, most=RING)
    return 0


def _copy(clause: tree.Stage, said: Clauses, sides: tuple[Side, ...], around: Around) -> tuple[tuple[Axis, ...], Arrow | None]:
    """The factors of the block in the copy, and its assignment; no assignment after a message."""
    access, scope, threads = clause.access, around.scope, threads_of(around.launch.block)
    if said.work is None and not said.compute and not said.of(tree.Own):
        fastest = next((c.order[-1] for c in said.of(tree.Layout) if c.order), "")
        return default_copy(sides, threads if around.launch.block else 0, around.op.tensor(access.name).dtype, fastest)
    axes = tuple(Axis(s.name, Const(s.extent), "data", n.span) for s, n in zip(sides, access.index, strict=True))
    equation = Equation(f"the tile of {access.name}", axes, Const(0), access.span)
    return shared_out(said, equation, around.launch.block, around.where, scope)
