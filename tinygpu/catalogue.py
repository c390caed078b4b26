"""Every error of tinygpu: its code, and in a few words what is wrong.

Comes in: a code. Goes out: its title; `docs/errors/CODE.md` is its page. A diagnostic's own title says the same of the case at hand.
The one idea: one table, so that a test can see that every code has a page, and an example that is refused with it.
"""

from __future__ import annotations

from collections.abc import Mapping

# TG0 syntax · TG1 names, dtypes, machines · TG2 assignment · TG3 memory · TG4 hardware · TG5 equation · TG6 notes · TG7 numerics
# TG8 building and calling · TG9 the tool
CATALOGUE: Mapping[str, str] = {
    "TG001": "unexpected word",
    "TG004": "a file cannot be read",
    "TG008": "a binding stands without a clause",
    # names
    "TG101": "unknown name",
    "TG102": "declared twice",
    "TG103": "a name hides another",
    "TG104": "never used",
    "TG105": "unknown operation",
    "TG106": "unknown architecture",
    "TG107": "unknown function or fold",
    "TG108": "unknown dtype",
    "TG109": "not in this version yet",
    # indices, ranges, equations
    "TG110": "wrong number of indices",
    "TG111": "a left side that is not bare indices",
    "TG112": "an index with two ranges",
    "TG113": "an index without a range",
    "TG114": "computed twice, or an input assigned",
    "TG115": "an output is never computed",
    "TG116": "an output is read",
    "TG117": "read before it is computed",
    "TG118": "a size that no array tells",
    "TG119": "not an index",
    # dtypes and values
    "TG120": "dtypes meet without a cast",
    "TG121": "a value of another dtype than its tensor",
    "TG122": "an operation that the dtype does not have",
    "TG123": "a number where a condition is needed",
    "TG124": "a number that the dtype cannot hold",
    "TG125": "wrong number of arguments",
    "TG126": "the dtype of a value is not known",
    "TG127": "factors where a value is needed, or a value where factors are",
    "TG128": "an extent or a divisor below 1",
    # machines
    "TG130": "a factor neither carried nor declared",
    "TG131": "a factor placed twice",
    "TG132": "two factors to be inferred",
    "TG133": "an index that is not placed",
    "TG134": "a factor in no equation",
    "TG135": "a vector factor that is not the last",
    "TG136": "an extent that is not a number",
    "TG137": "a factor with two extents",
    "TG138": "a factor without an extent",
    "TG139": "no work object",
    "TG140": "no equation has the index",
    "TG141": "a param is a whole number",
    "TG142": "a precondition is never true",
    "TG143": "a machine with a program has no assignment",
    # programs
    "TG150": "a step assigns an input",
    "TG151": "a fill where a cell is written",
    "TG154": "a loop bound that varies between threads",
    "TG155": "registers without a fixed count",
    "TG156": "a fold inside a step",
    "TG157": "a launch that is not well formed",
    # assignment
    "TG201": "an output element is never stored",
    "TG202": "an output element is stored twice",
    "TG203": "an access outside its array",
    # memory
    "TG301": "a result from a cell that nobody wrote",
    # hardware
    "TG401": "too many threads in a block",
    "TG402": "too many registers in a thread",
    "TG403": "an index that may not fit its integer type",
    "TG404": "a division of a negative number, or by less than 1",
    "TG405": "a wide access that may not be aligned",
    # equation
    "TG501": "a loop without a closed form",
    "TG502": "the value stored is not the equation's",
    "TG503": "a fold that could not be matched with the equation's",
    "TG504": "a point outside the fold contributes to it",
    "TG505": "a term of the fold is never contributed",
    "TG506": "a term of the fold is contributed twice",
    "TG507": "an output is accumulated in memory",
    "TG509": "a cell does not hold what is said",
    "TG510": "undefined where the equation is not",
    "TG511": "preconditions that no size satisfies",
    "TG512": "a store that is never reached",
    # calling what was built
    "TG801": "not an array that a kernel can take",
    "TG802": "an array of another dtype",
    "TG803": "an array of another rank",
    "TG804": "shapes that no sizes fit",
    "TG805": "an array that is not C-contiguous",
    "TG806": "an output that is read-only",
    "TG807": "an output that shares memory",
    "TG808": "a precondition that does not hold",
    "TG809": "arrays on several devices",
    "TG810": "sizes that are too large",
    "TG811": "`out` is not the outputs",
    "TG812": "a scalar of another kind or range",
    "TG813": "memory that is not aligned to its elements",
    "TG815": "no kernel for this GPU",
    "TG816": "a stream that is none",
    # the command line
    "TG901": "a bug of tinygpu",
    "TG902": "there is no such file",
    "TG903": "a file cannot be read",
    "TG904": "a file cannot be written",
    "TG905": "an argument that means nothing here",
    "TG906": "there is no such error code",
    "TG907": "no GPU that can be used",
}


def title(code: str) -> str:
    """The title of a code. Raises KeyError.

    >>> title("TG101")
    'unknown name'
    """
    return CATALOGUE[code]
