"""Random trees, for the laws of the formatter. Comes in: hypothesis; goes out: strategies for expressions, steps, clauses, files.

The trees are any that a Python program could build, not only those that the parser gives: parentheses are the formatter's work.
The one idea: one strategy for each node, each as wide as its type.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tinygpu.syntax import tree
from tinygpu.syntax.expression import LEVELS
from tinygpu.syntax.tree import Group, Sized

NAMES = st.sampled_from(("i", "k", "by", "in", "n", "acc", "tile_of_a_long_name", "block_index_of_the_row", "holds2", "T"))
FOLDS = st.sampled_from(("sum", "prod", "max", "min", "any", "all", "argmax"))
SORTS = st.sampled_from(("time", "register", "vector"))


def few(part: Any, least: int = 0) -> Any:
    """A tuple of up to three of something."""
    return st.lists(part, min_size=least, max_size=3).map(tuple)


def _more(inner: Any) -> Any:
    binder = st.builds(tree.Binder, NAMES) | st.builds(tree.Binder, NAMES, st.sampled_from(("<", "<=")), inner)
    return st.one_of(
        st.builds(tree.Cell, NAMES, few(inner)),
        st.builds(tree.Cell, NAMES, few(inner, 1), inner),
        st.builds(tree.Call, NAMES | FOLDS | st.just("where"), few(inner, 1)),
        st.builds(tree.Unary, st.sampled_from(("-", "not")), inner),
        st.builds(tree.Binary, st.sampled_from(sorted(LEVELS)), inner, inner),
        st.builds(tree.IfElse, inner, inner, inner),
        st.builds(tree.FoldExpr, FOLDS, few(binder, 1), inner, st.just(False), st.booleans()),
        st.builds(tree.FoldExpr, NAMES, few(binder, 1), inner, st.just(True), st.booleans()),
        st.builds(Group, few(inner | st.builds(Sized, NAMES, inner))),
        st.builds(tree.Field, inner, NAMES),
    )


NUMBERS = st.sampled_from(("0", "12", "0.5", "1e-3", "1024", "2.5E+4"))
EXPRESSIONS = st.recursive(st.builds(tree.Number, NUMBERS) | st.builds(tree.Name, NAMES), _more, max_leaves=12)
CELLS = st.builds(tree.Cell, NAMES, few(EXPRESSIONS))
LEVELS_OF_WORK = st.builds(
    tree.Level, st.sampled_from(("grid", "block")), st.builds(Group, few(st.builds(Sized, NAMES, EXPRESSIONS)))
)
PLACES = st.builds(tree.Place, st.just("pad"), st.tuples(EXPRESSIONS)) | st.builds(tree.Place, st.just("swizzle"), few(EXPRESSIONS))
UPDATES = st.sampled_from(("", "sum", "prod", "max", "any", "lse"))
SIMPLE = st.one_of(
    st.builds(
        tree.Array,
        st.sampled_from(("shared", "local", "workspace")),
        NAMES,
        NAMES,
        few(EXPRESSIONS),
        few(NAMES),
        st.none() | PLACES,
    ),
    st.builds(tree.Assign, CELLS, EXPRESSIONS, UPDATES, st.none() | EXPRESSIONS, st.booleans()),
    st.builds(tree.Holds, CELLS, EXPRESSIONS),
    st.builds(tree.Sync, st.sampled_from(("barrier", "warp barrier", "commit"))),
    st.builds(tree.Sync, st.just("wait"), EXPRESSIONS),
)
STEPS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds(tree.For, NAMES, EXPRESSIONS, few(inner), SORTS),
        st.builds(tree.For, NAMES, st.none(), few(inner), st.just("time"), few(EXPRESSIONS, 1)),
        st.builds(tree.If, EXPRESSIONS, few(inner)),
        st.builds(tree.LaunchStatement, few(LEVELS_OF_WORK, 1), few(inner)),
    ),
    max_leaves=5,
)
BINDINGS = st.builds(tree.Binding, st.tuples(NAMES) | st.tuples(NAMES, NAMES), EXPRESSIONS)
PARAMS = st.builds(tree.Param, NAMES, EXPRESSIONS) | st.builds(tree.Param, NAMES, st.none(), few(EXPRESSIONS, 1))
LISTS = st.one_of(
    st.builds(tree.Work, few(LEVELS_OF_WORK, 1)),
    st.builds(tree.Compute, few(BINDINGS, 1), st.none() | NAMES),
    st.builds(tree.Own, SORTS, few(st.builds(tree.Name, NAMES) | st.builds(tree.Sized, NAMES, EXPRESSIONS), 1)),
    st.builds(tree.Where, few(EXPRESSIONS, 1)),
    st.builds(tree.Equations, few(NAMES, 1)),
    st.builds(tree.Layout, few(NAMES, 1), st.none() | PLACES) | st.builds(tree.Layout, st.just(()), PLACES),
    PARAMS,
)
SPACES = st.sampled_from(("shared", "register", "somewhere"))
CLAUSES = st.recursive(
    st.one_of(
        LISTS,
        st.builds(tree.Keep, NAMES, SPACES),
        st.builds(tree.Reduce, NAMES, few(NAMES, 1), SPACES),
        st.builds(tree.ProgramClause, few(STEPS)),
    ),
    lambda inner: st.one_of(
        st.builds(tree.LaunchClause, NAMES, few(inner)),
        st.builds(tree.ForEquation, NAMES, few(inner)),
        st.builds(tree.Stage, CELLS, NAMES, SPACES, few(inner), st.none() | EXPRESSIONS, st.booleans(), st.none() | NAMES),
    ),
    max_leaves=4,
)
TENSORS = st.builds(tree.TensorDecl, NAMES, NAMES, st.none() | few(EXPRESSIONS))
EQUATIONS = st.builds(tree.Equation, st.tuples(CELLS) | st.tuples(CELLS, CELLS), EXPRESSIONS)
GROUPS = st.builds(Group, few(EXPRESSIONS))
FAMILIES = st.none() | st.builds(tree.Family, NAMES, few(NAMES, 1))
DECLARATIONS = st.one_of(
    st.builds(tree.Op, NAMES, few(TENSORS), few(TENSORS, 1), few(EQUATIONS, 1), few(EXPRESSIONS), FAMILIES),
    st.builds(tree.Machine, NAMES, few(st.builds(tree.Name, NAMES), 1), few(CLAUSES), st.none() | NAMES, few(EXPRESSIONS)),
    PARAMS,
    st.builds(
        tree.Monoid,
        NAMES,
        few(st.builds(tree.TensorDecl, NAMES, NAMES), 1),
        few(
            st.builds(tree.MonoidPart, st.sampled_from(("unit", "result")), GROUPS)
            | st.builds(tree.MonoidPart, st.sampled_from(("lift", "combine")), GROUPS, GROUPS),
            1,
        ),
        few(EXPRESSIONS),
    ),
    st.builds(tree.Import, st.sampled_from(("a.tgpu", "lib/b.tgpu"))),
)
FILES = st.builds(tree.File, few(DECLARATIONS))


def without_parentheses(value: Any) -> Any:
    """The tree without groups of one expression: what the parentheses that the formatter adds do not change."""
    if isinstance(value, tuple):
        return tuple(map(without_parentheses, value))
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if isinstance(value, Group) and len(value.items) == 1 and not isinstance(value.items[0], Sized):
        return without_parentheses(value.items[0])
    return replace(value, **{f.name: without_parentheses(getattr(value, f.name)) for f in fields(value) if f.name != "span"})
