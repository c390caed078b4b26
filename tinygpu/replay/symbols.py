"""Terms as solvers get them: folds as symbols, arithmetic on infinities as nothing that anybody knows.

Comes in: a term. Goes out: a term without folds. The one idea: a fold is a function of the variables that are free in it, the same
function for the same fold; nothing else is said of it.
"""

from __future__ import annotations

from tinygpu.replay.ir import FLOATS, Axis, Fold, Op, Read, Term, Var, free, put, rebuild, walk

ARITHMETIC = ("add", "sub", "mul", "div", "neg", "abs")


def plain(term: Term) -> Term:
    """The term without folds, and with arithmetic on what may be infinite left without a meaning.

    >>> from tinygpu.replay.ir import TRUE, num
    >>> a, b = (Fold("sum", (Axis(k, num(3)),), TRUE, Read("x", (Var("i"), Var(k)), "f32"), "f32") for k in "kl")
    >>> plain(a) == plain(b), plain(a).index
    (True, (Var(name='i', dtype='index'),))
    """
    match term:
        case Fold():
            return symbol(term)
        case Op(op, args, dtype) if op in ARITHMETIC and dtype in FLOATS and any(map(infinite, args)):
            return Op(f"{op} of infinities", tuple(map(plain, args)), dtype)
    return rebuild(term, plain)


def symbol(fold: Fold) -> Term:
    """The function of what is free in a fold."""
    outer = tuple(sorted(free(fold)))
    env = {name: Var(f"free {place}") for place, name in enumerate(outer)}
    return Read(f"fold {canonical(put(fold, env))!r}".replace("|", "/"), tuple(map(Var, outer)), fold.dtype)


def canonical(term: Term, depth: int = 0) -> Term:
    """The term with its binders numbered."""
    if not isinstance(term, Fold):
        return rebuild(term, lambda t: canonical(t, depth))
    env: dict[str, Term] = {}
    axes = []
    for place, binder in enumerate(term.binders):
        name = f"bound {depth} {place}"
        axes.append(Axis(name, canonical(put(binder.extent, env), depth)))
        env[binder.name] = Var(name)
    guard, body = (canonical(put(t, env), depth + 1) for t in (term.guard, term.body))
    return Fold(term.monoid, tuple(axes), guard, body, term.dtype)


def infinite(term: Term) -> bool:
    """Whether an infinity that somebody wrote may be the value."""
    match term:
        case Op("inf" | "-inf", ()):
            return True
        case Op("select", (_, a, b)):
            return infinite(a) or infinite(b)
        case Op(op, args) if op in ("min", "max", *ARITHMETIC) or op.endswith("of infinities"):
            return any(map(infinite, args))
        case Op(op, args) if op.startswith(("part.", "shuffle.", "cast.")):
            return any(isinstance(t, Op) and t.op in ("inf", "-inf") for a in args for t in walk(a))
    return False
