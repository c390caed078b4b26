"""A vector type for numba on the CPU, as text: one hardware register of f32 or f64 numbers, with the few operations that tiles need.

Comes in: the element dtype. Goes out: source of a type and its intrinsics (load, store, spread, arithmetic).
The one idea: LLVM has vectors of any length as values; given a name in numba they are variables, and so they stay in registers,
which arrays of accumulators do not.
"""

from __future__ import annotations

BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
CHOOSE = {"max": ">", "min": "<"}
OPERATIONS = (*BINARY, *CHOOSE, "neg")

IMPORTS = """from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.extending import intrinsic, models, register_model
"""

TEXT = '''
LANES = {single} if get_host_cpu_features().get("avx512f") else {half}  # {dtype} numbers in one vector register
VECTOR = ir.VectorType(ir.{llvm}(), LANES)


class Lanes(types.Type):
    """LANES numbers of {dtype}."""


lanes_type = Lanes(name=f"Lanes({{LANES}} x {dtype})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


def lanes_address(context, builder, signature, arguments):
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), VECTOR.as_pointer())


@intrinsic
def lanes_load(typing, array, first):
    """The LANES elements from `first` on."""

    def build(context, builder, signature, arguments):
        loaded = builder.load(lanes_address(context, builder, signature, arguments))
        loaded.align = {size}
        return loaded

    return lanes_type(array, types.uintp), build


@intrinsic
def lanes_store(typing, array, first, vector):
    """Write LANES elements from `first` on."""

    def build(context, builder, signature, arguments):
        stored = builder.store(arguments[2], lanes_address(context, builder, signature, arguments))
        stored.align = {size}
        return context.get_dummy_value()

    return types.none(array, types.uintp, lanes_type), build


@intrinsic
def lanes_spread(typing, number):
    """The number in every lane."""

    def build(context, builder, signature, arguments):
        one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), arguments[0], ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
        return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), zeros)

    return lanes_type(types.{numba}), build


def lanes_operation(instruction):
    """An intrinsic of two vectors; a product and a sum may become one fused operation, as in the scalar code."""

    @intrinsic
    def operation(typing, left, right):
        def build(context, builder, signature, arguments):
            return getattr(builder, instruction)(*arguments, flags=("contract",))

        return lanes_type(lanes_type, lanes_type), build

    return operation


def lanes_choice(relation):
    """An intrinsic that takes the left number of each lane where it stands in that relation to the right one."""

    @intrinsic
    def operation(typing, left, right):
        def build(context, builder, signature, arguments):
            return builder.select(builder.fcmp_ordered(relation, *arguments), *arguments)

        return lanes_type(lanes_type, lanes_type), build

    return operation
'''

SIZES = {"f32": (16, 8, "FloatType", 4, "float32"), "f64": (8, 4, "DoubleType", 8, "float64")}


def lanes_source(dtype: str, operations: set[str]) -> str:
    """The vector type of that dtype and the operations asked for, as a module's text.

    >>> "lanes_mul" in lanes_source("f32", {"mul", "add"}), "lanes_max" in lanes_source("f64", {"mul"})
    (True, False)
    """
    single, half, llvm, size, numba = SIZES[dtype]
    body = TEXT.format(single=single, half=half, llvm=llvm, size=size, numba=numba, dtype=dtype)
    lines = [f'lanes_{name} = lanes_operation("{code}")' for name, code in BINARY.items() if name in operations]
    lines += [f'lanes_{name} = lanes_choice("{sign}")' for name, sign in CHOOSE.items() if name in operations]
    return body + "\n\n" + "\n".join(lines) + "\n"
