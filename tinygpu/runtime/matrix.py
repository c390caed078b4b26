"""Instructions that a warp runs together, for kernels: cells of a thread in, one instruction, cells of a thread out.

Comes in: the text of the instruction, and of each operand its name, its way and how many cells a thread has, with the dtype of what is held in another: `c:rw:4 a:r:8:i4 s:row`; of one that a unit finds by itself its descriptor, `a:tile:4611686293305360384`. Goes out: a numba
intrinsic with two arguments for each operand: cells and the first of them, or a pointer into the block's memory and the offset of a row. The one
idea: elements below 32 bits are parts of a register, and the compiler sees that nothing moves.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types

from tinygpu.runtime.ring import _leads, _narrow, _near
from tinygpu.runtime.tensor import _cell


def _registers(builder: Any, values: list[Any], dtype: str) -> list[Any]:
    """Cells as registers: those below 32 bits are parts of one, and those of 4 bits the lower halves of bytes."""
    kind, word = values[0].type, ir.IntType(32)
    if dtype == "tf32":
        return [builder.bitcast(v, word) for v in values]
    if not isinstance(kind, ir.IntType) or kind.width >= 32:
        return values
    bits = 4 if dtype in ("i4", "u4") else kind.width
    each = 32 // bits
    wide = [builder.and_(builder.zext(v, word), word(2**bits - 1)) for v in values]
    shifted = [builder.shl(v, word(n % each * bits)) for n, v in enumerate(wide)]
    return [functools.reduce(builder.or_, shifted[n : n + each]) for n in range(0, len(shifted), each)]


def _cells(builder: Any, registers: list[Any], kind: Any) -> list[Any]:
    """The cells in registers."""
    if not isinstance(kind, ir.IntType) or kind.width >= 32:
        return registers
    word = ir.IntType(32)
    return [builder.trunc(builder.lshr(r, word(bit)), kind) for r in registers for bit in range(0, 32, kind.width)]


def _mark(kind: Any) -> str:
    """How assembly is told what a register holds."""
    return {"float": "f", "double": "d", "i64": "l"}.get(str(kind), "r")


@functools.cache
def matrix(text: str, form: str) -> Any:
    """The intrinsic of an instruction, `mma(c, first, a, first, b, first)`."""
    from numba.cuda.extending import intrinsic

    operands = [one.split(":") for one in form.split()]

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        word, numbers, inputs, marks = ir.IntType(32), dict[str, list[int]](), list[Any](), list[str]()
        outs: list[tuple[Any, list[Any], list[Any]]] = []  # the cells of an operand that is written, their type, its registers
        held: dict[str, list[Any]] = {}
        for at, (name, way, *count) in enumerate(operands):
            kind, first = signature.args[2 * at], given[2 * at + 1]
            item = context.get_data_type(kind.dtype)
            if way == "row":
                held[name] = [_near(builder, given[2 * at], first, context.get_abi_sizeof(item))]
                continue
            if way == "tile":  # in units of 16 bytes, of which arrays and tiles are whole ones
                begin = builder.lshr(_near(builder, given[2 * at], word(0), 1), word(4))
                high, low = divmod(int(count[0]), 2**32)
                place = builder.add(builder.add(begin, word(low)), _narrow(builder, first))  # 14 bits, none of which is carried
                pair = builder.insert_element(ir.Constant(ir.VectorType(word, 2), [0, high]), place, word(0))
                held[name] = [builder.bitcast(pair, ir.IntType(64))]
                continue
            if way == "tensor":
                height, width, level = count
                held[name] = [_cell(builder, given[2 * at], first, int(height), int(width), level == "warpgroup")]
                continue
            data = context.make_array(kind)(context, builder, given[2 * at]).data
            cells = [builder.gep(data, [builder.add(first, first.type(n))]) for n in range(int(count[0]))]
            if "r" in way:
                held[name] = _registers(builder, [builder.load(c) for c in cells], "".join(count[1:]))
            if "w" in way:
                packed = isinstance(item, ir.IntType) and item.width < 32
                types_ = [word] * (len(cells) * item.width // 32) if packed else [item] * len(cells)
                numbers[name] = [*range(len(marks), len(marks) + len(types_))]
                marks += [f"={_mark(t)}" for t in types_]
                outs.append((cells, item, types_))
        for name, registers in held.items():
            tied = numbers.get(name)
            numbers.setdefault(name, [*range(len(marks), len(marks) + len(registers))])
            marks += [str(n) for n in tied] if tied else [_mark(r.type) for r in registers]
            inputs += registers
        body, rows = text, [name for name, way, *_ in operands if way in ("row", "tile", "tensor")]
        later = text.startswith(("wgmma.", "fence.", "tcgen05."))  # the order of these is what they are for
        if later and rows and len(rows) == len(operands):  # no lane has anything of it: one of them begins it
            body = f"{{ .reg .pred leads; setp.ne.u32 leads, ${len(marks)}, 0; @leads {text} }}"
            marks.append("r")
            inputs.append(builder.zext(_leads(builder), word))
        for name, places in numbers.items():
            listed = ", ".join(f"${n}" for n in places)
            body = body.replace(f"{{{name}}}", listed if name in rows else f"{{{listed}}}")
        result = ir.LiteralStructType([t for _, _, types_ in outs for t in types_]) if outs else ir.VoidType()
        shape = ir.FunctionType(result, [v.type for v in inputs])
        asm = ir.InlineAsm(shape, body, ",".join([*marks, *["~{memory}"] * (bool(rows) or later)]), bool(rows) or later)
        got, at = builder.call(asm, inputs, attrs=("convergent",)), 0
        for cells, item, types_ in outs:
            registers = [builder.extract_value(got, at + n) for n in range(len(types_))]
            at += len(types_)
            for cell, value in zip(cells, _cells(builder, registers, item), strict=True):
                builder.store(value, cell)
        return context.get_dummy_value()

    names = ", ".join(f"a{n}" for n in range(2 * len(operands)))
    space: dict[str, Any] = {"void": types.void, "build": build}
    exec(f"def instruction(context, {names}):\n    return void({names}), build", space)
    return intrinsic(space["instruction"])
