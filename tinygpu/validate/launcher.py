"""A launcher, read statement by statement up to its launches.

    facts(launcher) ⊢ every shape is the op's, every precondition holds, every launch has as many blocks as the program says

Comes in: the function, and the program it is for. Goes out: what holds at the calls of kernels, and each call with its blocks; errors for
checks that are not made. The one idea: `if test: raise` is a fact from there on; where each array comes from, and that outputs share no
memory, is looked for by form.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from tinygpu.category.term import Var
from tinygpu.model.op import Tensor
from tinygpu.program.step import Program
from tinygpu.validate.effects import names_in
from tinygpu.validate.form import formed, signature
from tinygpu.validate.launches import Launcher, launches
from tinygpu.validate.promised import looks
from tinygpu.validate.seen import Reading
from tinygpu.validate.typed import Differs, unread


def read(function: ast.FunctionDef, program: Program, names: Collection[str] = ()) -> Launcher:
    """`function → what is known of the launcher`; `names` are those of its module, where they are known. Raises Differs."""
    reading = Reading(program, function)
    signature(function, program)
    launched: ast.If | None = None
    for stmt in function.body:
        if (launched is None) == isinstance(stmt, ast.Return):
            raise unread(stmt, "something is done after the launch" if launched else "returns before the launch")
        if isinstance(stmt, ast.If) and ast.unparse(stmt.test).endswith(".device < 0"):
            launched = stmt
        else:
            _statement(reading, stmt)
    if launched is None:
        raise Differs(function, "launches nothing", "it launches its kernels on the device of its output")
    formed(function, program, names)
    _complete(reading)
    return launches(reading, launched)


def _statement(reading: Reading, stmt: ast.stmt) -> None:
    """One statement before the launch."""
    program = reading.program
    match stmt:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Assign(targets=[ast.Name(id="_sizes")], value=ast.Dict(keys=keys, values=values)):
            if not all(isinstance(k, ast.Constant) and isinstance(v, ast.Name) for k, v in zip(keys, values, strict=True)):
                raise unread(stmt, "_sizes names sizes")
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="_view" | "_scalar"), args=[_, _, _, _, *_]) as call
        ):
            reading.input(stmt, name, call)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="_size_given"), args=[_, said, of])):
            if (
                not isinstance(said, ast.Constant)
                or ast.unparse(of) != name
                or name not in {a.arg for a in reading.function.args.kwonlyargs}
            ):
                raise unread(stmt, "a size that is given is a keyword")
            reading.whole.numbers.add(name)
            reading.given_sizes[name] = str(said.value)
            reading.facts.append(Var(name) >= 0)
        case ast.Assign(targets=[ast.Name(id="_first")], value=ast.Call(func=ast.Name(id="_same_device"), args=[_, views])):
            reading.near |= names_in(views)
        case ast.If(test=ast.Compare(left=ast.Name(id="out"), ops=[ast.Is()], comparators=[ast.Constant(value=None)])):
            reading.arrays(stmt, "out", program.op.outputs)
        case ast.If(test=ast.Compare(left=ast.Name(id="workspace"), ops=[ast.Is()], comparators=[ast.Constant(value=None)])):
            reading.arrays(stmt, "workspace", [Tensor(w.name, w.dtype, w.extents, "workspace") for w in program.workspaces])
        case ast.If() if looks(stmt):
            reading.spoiled |= {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            reading.spoiled |= {n.name for n in ast.walk(stmt) if isinstance(n, ast.FunctionDef)}
            if any(isinstance(n, ast.Return) for s in stmt.body if not isinstance(s, ast.FunctionDef) for n in ast.walk(s)):
                raise unread(stmt, "a check of data that returns")
        case ast.If(body=[ast.Return(value=value)], orelse=[]):
            outs = [n for n, t in reading.tensors.items() if t.role == "output"]
            if not outs or ast.dump(stmt.test) != ast.dump(_empty(outs)) or not _returned(value, outs):
                raise Differs(stmt, f"returns where {ast.unparse(stmt.test)}", "it returns early where all outputs are empty")
        case ast.If():
            reading.check(stmt)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            reading.size(name, reading.whole.number(value))
        case ast.Return(value=value):
            if not _returned(value, [n for n, t in reading.tensors.items() if t.role == "output"]):
                raise Differs(stmt, f"returns {ast.unparse(stmt)}", "it returns its outputs, in order")
        case _:
            raise unread(stmt, f"{ast.unparse(stmt).splitlines()[0]} is no statement of a launcher")


def _empty(outs: Sequence[str]) -> ast.expr:
    """The test that all outputs are empty."""
    return ast.parse(" and ".join(f"not {n}.nbytes" for n in outs), mode="eval").body


def _returned(value: ast.expr | None, outs: Sequence[str]) -> bool:
    owners = [f"{n}.owner" for n in outs]
    return value is not None and ast.unparse(value) == (owners[0] if len(owners) == 1 else f"({', '.join(owners)})")


def _complete(reading: Reading) -> None:
    """That every array was seen, and that its shape and the preconditions hold for sizes that are not negative."""
    op = reading.program.op
    seen = [t.name for t in reading.tensors.values()]
    for name in (*(t.name for t in op.tensors), *(w.name for w in reading.program.workspaces)):
        if seen.count(name) != 1:
            raise Differs(reading.function, f"does not look at {name}", "it looks at every array once")
    inputs = {n for n, t in reading.tensors.items() if t.role == "input" and t.shape}
    if not inputs <= reading.near:
        raise Differs(reading.function, "some inputs may be on another device", "_same_device compares all of them")
    spoiled = reading.spoiled & {*reading.tensors, *reading.whole.numbers, "_bits", "out", "workspace", "stream"}
    if spoiled:
        raise Differs(reading.function, f"changes {', '.join(sorted(spoiled))} in a check of data")
