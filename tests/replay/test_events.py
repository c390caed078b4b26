"""The counting of barriers against threads that are run one by one, on random programs of loops, conditions and barriers.

Every claim is about all sizes. Here each thread of a small block is run on its own, for small sizes, its accesses noted with the barriers that
it has passed: where both solvers prove a program, no two accesses may meet.
"""

import random
from itertools import combinations

import pytest

from tinygpu.replay import schedule
from tinygpu.replay.ir import Num, Op, Open, Read, Var
from tinygpu.replay.program import Assign, Barrier, If, Loop
from tinygpu.replay.read import read
from tinygpu.replay.smt import text
from tinygpu.replay.solve import answer

THREADS, WARP = 4, 2
SPEC = """op f(x: f32[n]) -> (y: f32[n]) where n >= {least} {{ y[i] = x[i] }}

machine m : f {{
  work grid = (b: n), block = (t: {threads})
  program {{
    shared s: f32[16]
    {body}
    y[b] = x[b] if t == 0
  }}
}}
"""
INDICES = (
    "t",
    "t",
    f"{THREADS - 1} - t",
    "t // 2",
    "0",
    "{k} % 4 + t",
    "{k}",
    "({k} + t) % 4",
    "({k} % 2)*4 + t",
    "({k} + 1) % 2*4 + t",
)
CONDITIONS = ("t == 0", "n > 2", "{k} % 2 == 0", "{k} + 1 < n", "{k} > 0", "t < 2", "t // 2 == 0", "{k} == 0", "b > 0")
EXTENTS = ("2", "n", "n - 1", "3", "1 - n", "n // 2")


def program(chance, depth=2, loops=()):
    """The lines of a body."""
    lines = []
    for _ in range(chance.randrange(1, 4)):
        k = chance.choice((*loops, "n"))
        condition = chance.choice(CONDITIONS).format(k=k)
        match chance.choice(("barrier", "barrier", "access", "access", "access", "loop", "if", "warp")):
            case "loop" if depth:
                name = f"k{depth}{chance.randrange(1000)}"
                inner = program(chance, depth - 1, (*loops, name))
                lines += [f"for {name} < {chance.choice(EXTENTS)} {{", *inner, "}"]
            case "if" if depth:
                lines += [f"if {condition} {{", *program(chance, depth - 1, loops), "}"]
            case "barrier":
                lines.append("barrier")
            case "warp":
                lines.append("warp barrier")
            case _:
                cell, other = (f"s[{chance.choice(INDICES).format(k=k)}]" for _ in range(2))
                value = chance.choice(("1", "x[b]", f"{other} + 1", f"({other} if {condition} else 0)"))
                lines.append(f"{cell} = {value}" + (f" if {condition}" if chance.random() < 0.3 else ""))
    return lines


def number(term, env):
    """The plain value of an index or of a condition."""
    match term:
        case Num(v):
            return v
        case Var(name):
            return env[name]
        case Op("and", args):
            return all(number(a, env) for a in args)
        case Op("select", (c, a, b)):
            return number(a if number(c, env) else b, env)
        case Op(op, (a, b)):
            x, y = number(a, env), number(b, env)
            return {"add": x + y, "sub": x - y, "mul": x * y, "eq": x == y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y,
                    "floordiv": x // y if y else 0, "mod": x % y if y else 0}[op]  # fmt: skip
    raise AssertionError(term)


def run(steps, env, passed, seen):
    """One thread: what it does, with the barriers passed so far (of the block, of any kind)."""
    for step in steps:
        match step:
            case Barrier(scope):
                passed[0] += scope == "block"
                passed[1] += 1
            case If(guard, body):
                if number(guard, env):
                    run(body, env, passed, seen)
            case Loop(axis, body):
                for turn in range(max(0, number(axis.extent, env))):
                    run(body, {**env, axis.name: turn}, passed, seen)
            case Assign(target, index, value, _, guard) if number(guard, env):
                evaluated(value, env, passed, seen)
                if target == "s":
                    seen.append((number(index[0], env), True, *passed))


def evaluated(term, env, passed, seen):
    match term:
        case Read("s", (index,)):
            seen.append((number(index, env), False, *passed))
        case Op("select", (condition, then, otherwise)):
            evaluated(then if number(condition, env) else otherwise, env, passed, seen)
        case Op(_, args):
            for a in args:
                evaluated(a, env, passed, seen)


def misbehaves(machine, least):
    """Whether at some small size barriers are not reached by all, or two threads meet."""
    (launch,) = machine.launches
    for n in range(least, 5):
        for block in range(n):
            threads = []
            for t in range(THREADS):
                passed, seen = [0, 0], []
                run(launch.body, {"n": n, "b": block, "t": t}, passed, seen)
                threads.append((passed, seen))
            if any(a[0] != b[0] for a, b in combinations([p for p, _ in threads], 2)):
                return True
            if any(threads[t][0] != threads[t + 1][0] for t in range(0, THREADS, WARP)):
                return True
            for (t, (_, one)), (u, (_, two)) in combinations(list(enumerate(threads)), 2):
                if any(meet(a, b, t // WARP == u // WARP) for a in one for b in two):
                    return True
    return False


def meet(a, b, one_warp):
    return a[0] == b[0] and (a[1] or b[1]) and a[2] == b[2] and not (one_warp and a[3] != b[3])


@pytest.mark.parametrize("seed", range(4))
def test_no_two_threads_meet_where_the_claims_are_proved(seed, monkeypatch):
    pytest.importorskip("cvc5")
    monkeypatch.setattr(schedule, "WARP", WARP)
    chance, proved, right = random.Random(seed), 0, 0
    for _ in range(40):
        least = chance.randrange(3)
        spec = SPEC.format(least=least, threads=THREADS, body="\n".join(program(chance)))
        (machine,) = read(spec)
        wrong = misbehaves(machine, least)
        right += not wrong
        claims = list(schedule.stated(machine))
        for solver in ("z3", "cvc5"):
            if not any(isinstance(c, Open) for c in claims) and all(getattr(answer(text(c)), solver) == "proved" for c in claims):
                assert not wrong, spec
                proved += 1
    assert proved >= right, (proved, right)  # both solvers, so: at least half of what is right, and more in fact
