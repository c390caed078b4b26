"""Seeded defects: mistakes that somebody could make in any room of the house, each with a test that sees it.

Comes in: nothing. Goes out: `DEFECTS`. The one idea: what the tests are worth is what they catch, so whoever makes them shorter or moves the code
does it without losing one of these. `python -m tests.seeded` makes every mistake in a copy, and asks the test that is named.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    """`old` of a file of `tinygpu/` becomes `new`; `test` is a node of pytest that then fails."""

    title: str
    file: str
    old: str
    new: str
    test: str


def wrong(name: str) -> str:
    """The test of one wrong spec."""
    return f"tests/wrong/test_wrong.py::test_the_message[{name}]"


def unsound(name: str) -> str:
    """The test of one program that must not be proved."""
    return f"tests/meaning/test_meaning.py::test_what_is_wrong_is_not_proved[{name}]"


DEFECTS = (
    # gradients: a derivative that is another one, a pair of others, and what a fold is of
    Defect("a maximum of one element twice changes twice", "model/adjoint.py", "            if not self.apart(fold):", "            if False:", "tests/algebra/test_gradients.py::test_an_adjoint_is_what_differences_say[gradient_of_twice]"),
    Defect("the derivative of tanh has another sign", "category/operation.py", 'slope=lambda f, x: f("sub", 1, f("mul"', 'slope=lambda f, x: f("add", 1, f("mul"', "tests/algebra/test_gradients.py::test_slopes_of_functions[tanh]"),
    Defect("an index that is known is not the element's", "model/adjoint.py", "            known[place.name] = here", "            known[place.name] = place", "tests/algebra/test_gradients.py::test_an_adjoint_is_what_differences_say[gradient_of_product]"),
    Defect("a gradient of another dtype is paired", "emit/gradients.py", "all(dtypes.get(t.name) == t.dtype for t in other.op.tensors)", "True", "tests/emit/test_gradients.py::test_launchers_are_paired_by_dtype"),
    Defect("who has a maximum has one of something", "algebra/beside.py", ' if s.kind != "something"]', "]", wrong("TG561_a_maximum_that_asks_for_nothing")),
    Defect("what an adjoint asks for is asked by the op", "algebra/gradient.py", "claims_of(theorem, case, wanted, known, labels, mostly=True)", "claims_of(theorem, case, wanted, (*known, *wanted), labels, mostly=True)", wrong("TG561_a_root_where_there_is_none")),
    Defect("no cast of floats is a function", "algebra/polynomial.py", "return a.dtype in FLOATS and dtype in FLOATS and not contains(dtype, a.dtype)", "return False", wrong("TG560_rounded_on_the_way")),
    Defect("what saturates changes as it is", "model/adjoint.py", '            case App("cast", _, dtype) if DTYPE[dtype].saturates:', '            case App("cast", _, dtype) if False:', wrong("TG569_a_largest_number")),
    Defect("integers do not wrap under a logarithm", "algebra/sides.py", "above(a) if a.dtype in FLOATS and contains(value.dtype, a.dtype) else None", "above(a)", wrong("TG561_integers_that_wrap")),
    Defect("where much cancels two values are two", "algebra/refute.py", " * F64_OF_F32 if", " * 0.0 if", "tests/algebra/test_theorems.py::test_what_cancels_is_no_difference"),
    Defect("what has no value is a number of f64", "algebra/refute.py", "reference(op, sizes, inputs, undefined=False)", "reference(op, sizes, inputs)", "tests/algebra/test_theorems.py::test_what_f64_has_not_and_what_has_no_value_is_no_difference"),
    Defect("what is too large for f64 has no value", "algebra/refute.py", 'over="raise", under="raise"', 'over="ignore"', "tests/algebra/test_theorems.py::test_what_f64_has_not_and_what_has_no_value_is_no_difference"),
    Defect("differences of what goes by steps", "algebra/differences.py", "    if any(map(steps,", "    if not any(map(lambda _: True,", "tests/algebra/test_gradients.py::test_of_what_goes_by_steps_differences_say_nothing"),
    # the prover: a claim that is not asked, or asked of less
    Defect("one store twice is not asked", "obligations/memory.py", "        if p == q and not alone:", "        if p == q:", wrong("TG202_two_threads")),
    Defect("an element that nobody stores is not asked", "obligations/memory.py", "if t.name not in made):", "if t.name in made):", wrong("TG201_no_tail")),
    Defect("a warp barrier is one of the block", "obligations/barriers.py", "                found += ((scope, TRUE),)", "                found += (('block', TRUE),)", wrong("TG302_warp_barrier")),
    Defect("a barrier of the next turn is one of this", "obligations/barriers.py", "        turn = next_ if (\"block\", TRUE) in met(loop.body) else Var(name + LATER) > Var(name)", "        turn = equal(Var(name + LATER), Var(name))", wrong("TG302_next_turn_alone")),
    Defect("a copy has landed one group too early", "obligations/between.py", "done >= event.count + 1), way", "done >= event.count), way", wrong("TG310_a_group_too_many")),
    Defect("a barrier before the wait tells", "obligations/between.py", "event.count + 1), way[position + 1 :]", "event.count + 1), way", wrong("TG310_told_before_it_landed")),
    Defect("a guarded wait is counted on", "obligations/between.py", "            case For(axis, inner):\n                found += several(axis.extent, events(inner))", "            case For(axis, inner):\n                found += several(axis.extent, events(inner))\n            case _ if hasattr(step, 'guard') and hasattr(step, 'body'):\n                found += events(step.body)", wrong("TG310_some_wait")),
    Defect("what a copy reads may change", "program/pending.py", "                if element.tensor in changed:", "                if element.tensor in written(launch.body):", wrong("TG183_written_meanwhile")),
    Defect("a thread may copy over what it has written", "obligations/landing.py", "                if other in (COPY, TENSOR) and not unit:", "                if other in (COPY, TENSOR) and unit == COPY:", wrong("TG310_over_what_was_written")),
    Defect("products of another warp land in order", "obligations/landing.py", "goal=settle(disjunction(pair.lanes, asked.goal), pair.extents)", "goal=TRUE", wrong("TG310_products_of_two_warps")),
    Defect("a unit sees what no fence has shown", "obligations/landing.py", "for fence, behind in fenced(after, ASYNC):", "for fence, behind in ((TRUE, after),):", wrong("TG312_no_fence_of_memory")),
    Defect("whoever uses a slot has all slots", "obligations/edges.py", "    return Edge(y >= x + one.slots, y - one.slots + one.leave.behind, one)", "    return Edge(y >= x, y - one.slots + one.leave.behind, one)", wrong("TG302_a_ring_longer_than_its_rows")),
    Defect("a warp may have both roles", "program/ring.py", "    if filling.threads(launch) & using.threads(launch):", "    if filling.threads(launch) == {0}:", wrong("TG185_one_warp_has_both_roles")),
    Defect("a box may be a part of a slot", "program/boxes.py", " or [a.extent for a in one.box] != [*extents[ahead:]]", "", wrong("TG185_half_of_a_slot")),
    Defect("a neighbour sends while an array is used", "program/cluster.py", "        if name in here and path[0] <= section.begin[0] and", "        if name in here and path[0] < 0 and", "tests/hardware/test_clusters.py::test_what_they_do_not_have_in_common_is_copied_by_each[used before]"),
    Defect("a neighbour sends to a slot of its own", "program/cluster.py", "(*element(one).index, *one.index)", "element(one).index", "tests/hardware/test_clusters.py::test_what_they_do_not_have_in_common_is_copied_by_each[a slot of its own]"),
    Defect("a neighbour sends when others take other turns", "program/cluster.py", "    if any(map(told, (*turns, *section.ends))):", "    if any(map(told, turns)):", "tests/hardware/test_clusters.py::test_what_they_do_not_have_in_common_is_copied_by_each[other turns]"),
    Defect("registers need no fence", "obligations/landing.py", "disjunction(*(where for where, _ in fenced(flow.events, other)))", "disjunction(conjunction())", wrong("TG312_no_fence_of_registers")),
    Defect("a write may be outside", "obligations/memory.py", "        if not access.index:", "        if not access.index or access.write:", wrong("TG203_shared_too_short")),
    Defect("a divergent barrier is not asked", "obligations/barriers.py", "    if other == guard:\n        return", "    if other != guard:\n        return", wrong("TG303_divergent_barrier")),
    Defect("a cell that nobody wrote is not asked", "obligations/store.py", "        hidden = (FRESH, UNSOLVED)", "        hidden = (UNSOLVED,)", unsound("unwritten_index_in_guard")),
    Defect("terms twice in a fold are not asked", "obligations/fold.py", "    if as_monoid(wanted.monoid).idempotent or not as_monoid(wanted.monoid).commutative:", "    if as_monoid(wanted.monoid).commutative:", wrong("TG506_double_counting")),
    Defect("that a fold is whole is not asked", "obligations/fold.py", "    goal = onto(parts, tuple(Var(a.name) for a in wanted.axes), inner.extents)", "    goal: Term = TRUE", wrong("TG505_a_term_is_missing")),
    Defect("a fold outside of its range may add anything", "obligations/fold.py", "    if lands != TRUE:", "    if lands == FALSE:", wrong("TG504_outside_the_fold")),
    Defect("the order of a fold is not asked", "obligations/fold.py", "    if not as_monoid(wanted.monoid).commutative:\n        yield from _ordered", "    if as_monoid(wanted.monoid).commutative:\n        yield from _ordered", wrong("TG508_changed_order")),
    Defect("a monoid need not be associative", "obligations/laws.py", 'for law in ("unit", "idempotent", "invariant", "associative", "commutative"):', 'for law in ("unit", "idempotent", "invariant"):', wrong("TG520_not_associative")),
    Defect("a quotient is always defined", "obligations/defined.py", "for relation, a, number in numbers)) if asked else FALSE", "for relation, a, number in numbers if relation != 'ne')) if asked else FALSE", unsound("u1_truth_kept")),
    Defect("a comparison of rounded numbers is one of reals", "obligations/control.py", "            if stored and op in COMPARISONS and compared(term):", "            if op in COMPARISONS:", unsound("u9_store_by_rounding")),
    Defect("a quotient has a value whatever it divides by", "category/total.py", "    return not all(met(term.args[place]", "    return all(met(term.args[place]", "tinygpu/category/total.py"),
    Defect("an infinity is a number", "category/total.py", "            return value not in INFINITE", "            return True", "tinygpu/category/total.py"),
    Defect("what two launches store is not asked of", "obligations/dataflow.py", "        if len(self.program.launches) > 1 or launch.turns or any(s.step.atomic or adds", "        if any(s.step.atomic or adds", "tests/obligations/test_every_kind_fails.py"),
    Defect("two arrays may share memory", "obligations/storage.py", "        goal = conjunction(start >= places[one.name] + shared_bytes(one), equal(start % whole, 0))", "        goal = equal(start % whole, 0)", "tests/obligations/test_every_kind_fails.py"),
    Defect("an index may be as large as it likes", "obligations/width.py", "        if narrow:\n            yield fits", "        if not narrow:\n            yield fits", wrong("TG403_width")),
    Defect("a negative index is divided", "obligations/width.py", "goal = where.settled(conjunction(a >= 0, b >= 1))", "goal = where.settled(b >= 1)", wrong("TG404_negative_division")),
    Defect("a loop is left one turn early", "obligations/anew.py", "return _left(axis, value, old, axis.extent, Region(()))", "return _left(axis, value, old, axis.extent - 1, Region(()))", "tests/obligations/test_recurrence.py"),
    Defect("an interval is too narrow", "category/bitrange.py", "(1 << max(m.bit_length(), n.bit_length())) - 1)", "(1 << max(m.bit_length(), n.bit_length())) - 2)", "tests/category/test_rules.py"),
    Defect("a power of two is half of it", "category/bitwise.py", "to.number(first << k)", "to.number(first << k >> 1)", unsound("a_power_of_two_larger_than_its_bound")),
    Defect("the root of 0 is positive", "obligations/facts.py", "App(op, (term, zero), BOOL)), BOOL)", "App('gt', (term, zero), BOOL)), BOOL)", unsound("a_root_of_0")),
    # names: what is put in is not what was meant
    Defect("a tile is stored to outside of its array", "model/names.py", "return replace(made, guard=both(inside, made.guard)) if", "return replace(made, guard=made.guard) if", "tests/model/test_names.py::test_a_tile_carries_its_bounds"),
    Defect("a name may be of a cell that is written", "model/names.py", "if cell := next(cells, None):", "if cell := next(cells, None) and None:", wrong("TG172_named_before_it_is_written")),
    Defect("an index of an argument is bound by a def", "model/names.py", "& {*names_in(call.args)}:", "& {*call.args}:", wrong("TG103_names_hide")),
    Defect("a difference of two names is their sum", "model/binders.py", "return replace(index, op=inner, left=", "return replace(index, left=", "tests/model/test_names.py"),
    Defect("what is stored in place may be read after", "obligations/inplace.py", "    in_front = TRUE if ours == theirs or ours[common : common + 1] < theirs[common : common + 1] else FALSE", "    in_front = TRUE", wrong("TG308_after_the_store")),
    Defect("what is stored in place may be read by others", "obligations/inplace.py", "    return conjunction(*same, disjunction(sooner, last))", "    return disjunction(sooner, last)", wrong("TG308_a_neighbour")),
    Defect("an output in place needs no store", "obligations/memory.py", "        yield negation(put_in(", "        yield FALSE if op else negation(put_in(", wrong("TG201_append_too_few")),
    # choices: a claim that is not asked, another case that is taken, and a table that nobody compares
    Defect("sizes may have two cases", "obligations/choice.py", "        for other in branches[at + 1 :]:", "        for other in branches[at + 1 : at]:", wrong("TG552_both")),
    Defect("sizes may have no case", "obligations/choice.py", "    goal = disjunction(*(conjunction(*one.where) for one in branches))", "    goal = conjunction()", wrong("TG551_one_size_left_out")),
    Defect("any machine may be called in any case", "obligations/choice.py", "        if part not in given_:", "        if part in given_:", wrong("TG553_a_condition_less")),
    Defect("the first case is taken always", "runtime/choose.py", "        if number < len(cases):", "        if number > len(cases):", "tests/emit/test_choice.py"),
    Defect("any cases are read", "validate/joined.py", "    compared(found, table_of(wanted))\n", "", "tests/emit/test_choice.py"),
    # pipelines: a claim that is not asked, places that overlap, another array, and a name that is taken
    Defect("the end of a loop is read where nobody asks for it", "program/loops.py", "guard=guard, span=first.span", "span=first.span", "tests/meaning/test_meaning.py::test_what_is_right_is_proved_or_at_least_not_refuted[ends_that_are_read_under_a_guard]"),
    Defect("what is made may have a negative extent", "obligations/pipeline.py", "any(min(polynomial(t).values(), default=0) < 0 for t in walk(extent))", "min(polynomial(extent).values(), default=0) < 0", wrong("TG556_a_negative_size")),
    Defect("an instruction of a spec is the one of its name", "proof/axioms.py", "if one not in shipped(one.name)", "if not shipped(one.name)", "tests/commands/test_audit.py"),
    Defect("a pipeline is right whatever its machines do", "commands/again.py", "Statement(believed(one), called(one),", "Statement(believed(one), (),", "tests/commands/test_pipelines.py"),
    Defect("a theorem is tried at data that nobody promised", "algebra/refute.py", "if promised(theorem.left, sizes, i))", "if True)", "tests/algebra/test_promised.py"),
    Defect("what stands between calls is a number", "obligations/values.py", "if ends != TRUE or where_defined(", "if where_defined(", "tests/proof/test_pipeline.py"),
    Defect("a pipeline may be for nothing", "obligations/pipeline.py", "    yield from possible(", "    () and (", wrong("TG511_a_pipeline")),
    Defect("calls may have any extents", "obligations/pipeline.py", "        if polynomial(wanted) != polynomial(there):", "        if polynomial(wanted) == polynomial(there):", wrong("TG555_two_sizes")),
    Defect("a pipeline may call anybody anywhere", "obligations/pipeline.py", "        if part not in known:", "        if part in known:", wrong("TG556_a_precondition")),
    Defect("a value is forgotten when it is read last", "derive/arena.py", "        return self.first <= other.last and other.first <= self.last", "        return self.first < other.last and other.first < self.last", "tests/proof/test_pipeline.py"),
    Defect("a value lives until it is read first", "derive/arena.py", "max([number, *read])", "min([number + 1, *read])", "tests/emit/test_pipeline.py"),
    Defect("nobody runs through memory again", "proof/pipeline.py", "            if place.stop > end or any(", "            if any(", "tests/proof/test_pipeline.py"),
    Defect("an intermediate of an op hides one of the pipeline", "model/chain.py", 'claimed(f"{out}_{name}", self.taken | public)', "name", "tests/proof/test_pipeline.py"),
    Defect("a value lies at the beginning always", "runtime/allocate.py", ", arena.base, at)", ", arena.base, 0)", "tests/emit/test_pipeline.py"),
    Defect("each case of a choice has a place of its own", "derive/arena.py", "self.owner == other.owner and self.case != other.case", "self.owner != other.owner and self.case != other.case", "tests/emit/test_pipeline.py"),
    # the kernel, certificates and the second checkers
    Defect("what the solver gives up is a theorem", "proof/kernel.py", '            if verdict == z3.unsat:\n                return Theorem(claim, "z3", effort)', '            if verdict != z3.sat:\n                return Theorem(claim, "z3", effort)', "tests/proof/test_kernel.py"),
    Defect("a run that goes wrong agrees", "recheck/run.py", "                if seen is not None:\n                    return Disagreement(row, seen)", "                if seen is None:\n                    pass", "tests/recheck/test_run.py"),
    # schedules: machine → program
    Defect("a copy has no guard at the tensor's end", "derive/stage.py", "    store = Assign(tile.array, there, select(inside, value, tile.fill), guard=guard, span=stage.span)", "    store = Assign(tile.array, there, value, guard=guard, span=stage.span)", "tests/derive/test_derive_stage.py"),
    Defect("barriers are left out for threads too", "derive/launch.py", "    body = in_order_alone(body) if build.core else ringed(build, body) if build.block else body", "    body = in_order_alone(body)", "tests/derive/test_derive_stage.py"),
    Defect("components are stored before the others are read", "derive/unpack.py", "        if self.now is None or isinstance(value, Const | Var) or", "        if self.now or isinstance(value, Const | Var) or", "tests/derive/test_unpack.py"),
    # printers
    Defect("a loop of a kernel runs once too often", "emit/cuda_body.py", 'f"{word}({bound})"', 'f"{word}({bound} + 1)"', "tests/validate/test_specs.py"),
    Defect("a loop begins one turn behind what data say", "emit/cuda_body.py", "between({self.scope.text(step.start)}, {bound})", "between(ix({self.scope.text(step.start)} + 1), {bound})", "tests/validate/test_edits.py"),
    Defect("an instruction orders shared memory too", "program/space.py", 'ordered=("block", "warp"))', 'ordered=("block", "warp", "instruction"))', "tests/hardware/test_fragments.py"),
    Defect("tiles of a fragment are numbered the other way", "model/collective.py", "            tile = tile * count + i // box", "            tile = tile + i // box * count", "tests/hardware/test_emission.py"),
    Defect("nothing may be scaled by an infinity", "obligations/sums.py", "        goal = point.settled(finite(factor, point, {}))", "        goal = TRUE", wrong("TG502_nothing_times_an_infinity")),
    Defect("what is divided by an exponential is multiplied by it", "category/powers.py", 'App("neg", (power,), dtype) if over else power', "power", "tests/obligations/test_right.py"),
    Defect("any lane has any element", "program/fragments.py", "            and simplify(held.mine((*held.groups, *place)), Region((*self.block, *self.around))) == TRUE", "            or place", "tests/hardware/test_fragments.py"),
    Defect("lanes name other rows", "model/collective.py", "split(self.cells, lane % prod(", "split(self.cells, lane // 2 % prod(", "tests/hardware/test_emission.py"),
    Defect("an element of another lane is read", "program/tiles.py", "        return tree.Cell(self.name, (*map(expression, self.held.groups), *place), span=span)", "        return tree.Cell(self.name, (*map(expression, self.held.groups), *place[::-1]), span=span)", "tests/hardware/test_fragments.py"),
    Defect("a guard is not printed", "emit/body.py", '        return lines if guard == TRUE else block(f"if {self.scope.text(guard)}", lines)', "        return lines", "tests/validate/test_specs.py"),
    Defect("a wide access is taken where it is not", "schedule/wide.py", "            asked = conjunction(*[LAUNCHED] * any(not w.shared for w in quick), next(iter(quick)).condition)", "            asked = LAUNCHED", "tests/validate/test_specs.py"),
    Defect("a wide store and a wide load change places", "emit/cuda_body.py", "{access.way}{access.count}", "{'store' if access.way == 'load' else 'load'}{access.count}", "tests/validate/test_specs.py"),
    # launchers: what their tables say, what the runtime makes of it, and who compares the tables
    Defect("a precondition is not said", "schedule/contract.py", '        "where": _words(g for g in', '        "where": _words(g for g in () for _ in', "tests/validate/test_specs.py"),
    Defect("indices have 32 bits wherever somebody asks", "schedule/contract.py", '        "limits": _words(limits),', '        "limits": (),', "tests/validate/test_specs.py"),
    Defect("the sizes of the CPU are not limited", "schedule/contract.py", '        "counted": _words(counted),', '        "counted": (),', "tests/validate/test_cpu_width.py"),
    Defect("a precondition is not checked", "runtime/launch.py", "        yield f\"if {' or '.join([*tests, f'not ({_python(said)})'])}:\"", "        yield f\"if {' or '.join(tests) or 'False'}:\"", "tests/emit/test_launcher.py"),
    Defect("outputs may overlap inputs", "runtime/launch.py", '    yield f"    _distinct({title}, {mine}, {others}{same})"\n', "", "tests/emit/test_launcher.py"),
    Defect("outputs may lie wherever an input does", "runtime/calls.py", "            if (number, place) in same and output.pointer == other.pointer and", "            if same and output.pointer == other.pointer and", "tests/emit/test_inplace.py"),
    Defect("two elements of an output may lie at one place", "runtime/calls.py", "        if step <= reach:", "        if step < reach:", "tests/emit/test_views.py"),
    Defect("backwards is nowhere", "runtime/calls.py", "sum(min(r, 0) for r in reached)", "sum(min(r, 0) for r in ())", "tests/emit/test_views.py"),
    Defect("in place is wherever it begins", "runtime/calls.py", " and output.steps == other.steps:", ":", "tests/emit/test_views.py"),
    Defect("elements may lie as far apart as they like", "runtime/views.py", "_FARTHEST = 2**63 - 2**32", "_FARTHEST = 2**99", "tests/emit/test_views.py::test_arrays_on_a_gpu_are_asked_too"),
    Defect("a view is what lies in rows", "runtime/views.py", "    return None if found == _rows(shape) else found", "    return None", "tests/emit/test_views.py"),
    Defect("what is strided moves at once", "derive/wide.py", "        return not array.strided", "        return True", "tests/validate/test_specs.py::test_a_module_is_what_its_programs_say[views]"),
    Defect("strides change places", "emit/cuda_text.py", "zip(at, self.strides[read.tensor], strict=True)", "zip(at, self.strides[read.tensor][::-1], strict=True)", "tests/emit/test_views.py"),
    Defect("what memory holds is read early", "validate/scope.py", "                elif any(r.index for r in reads(value.term)):", "                elif not reads(value.term) and reader.shuffles:", "tests/validate/test_edits.py"),
    Defect("any number of elements fits", "validate/width.py", "        return any(over(limit, form) for limit", "        return not any(over(limit, form) for limit", "tinygpu/validate/width.py"),
    Defect("any stride is read", "validate/cast.py", "                if thing(pace) != Value", "                if thing(pace) == Value", "tests/validate/test_edits.py"),
    Defect("what nobody stores is left as it was", "runtime/go.py", "        if goes_on:\n", "        if not goes_on:\n", "tests/emit/test_inplace.py"),
    Defect("32-bit indices are always taken", "runtime/go.py", """{f'32 if {fits} else 64' if fits else '32'}""", "32", "tests/emit/test_cuda_call.py"),
    Defect("what is not there keeps a promise", "runtime/conditions.py", "(here, known, value >= 0, value < extent)", "(here, known, value >= 0)", "tests/emit/test_check_data.py"),
    Defect("a negative size is taken", "runtime/calls.py", "    if whole < 0:", "    if whole < -1:", "tests/emit/test_launcher.py"),
    Defect("arrays of two devices are taken", "runtime/calls.py", "        if view.device != first.device and (view.nbytes or min(view.device, first.device) < 0):", "        if view.device != first.device and not view.nbytes:", "tests/emit/test_cuda_call.py"),
    Defect("a read-only output is written", "runtime/calls.py", "    if view.readonly:", "    if view.readonly is None:", "tests/emit/test_launcher.py"),
    Defect("any runtime is taken", "runtime/__init__.py", 'if getattr(runtime, "VERSION", "") != "{VERSION}":', 'if getattr(runtime, "VERSION", "") == "{VERSION}":', "tests/emit/test_module.py"),
    Defect("any table is read", "validate/launcher.py", "        if key != \"launches\" and repr(value) != repr(wanted[key]):", "        if key == \"launches\" == repr(value):", "tests/validate/test_edits.py"),
    Defect("a size is read from another extent", "model/solved.py", "found.append(Solved(size, tensor.name, axis, *split))", "found.append(Solved(size, tensor.name, 0, *split))", "tests/validate/test_specs.py"),
    Defect("any grid is read", "validate/launcher.py", "            if what and repr(value) != repr(other):", "            if not what and repr(value) != repr(other):", "tests/validate/test_edits.py"),
    # runtime
    Defect("a damaged file of the cache is used", "run/load.py", "        return path.read_bytes() == text.encode()", "        return bool(path.read_bytes())", "tests/run/test_cache.py"),
    # machines that are right: proved, and then built
    Defect('a row is not asked for before what it has', 'derive/fold.py', 'rest = about(place.rest, asked, build) if', 'rest = () if', 'tests/validate/test_build.py::test_what_was_proved_is_built_without_a_word[conditions_of_data_inside]'),
    Defect('what a text asks around a condition is asked in it', 'validate/follow.py', '                    first, guard, _, wanted = parted(guard, wanted)\n                    here = self.under(here, first)\n', '                    pass\n', 'tests/validate/test_build.py::test_what_was_proved_is_built_without_a_word[conditions_of_data_inside]'),
    Defect('a number beyond 32 bits is no limit', 'validate/width.py', '            self.least = LONG  #', '            pass  #', 'tests/validate/test_build.py::test_what_was_proved_is_built_without_a_word[shifts_by_an_index]'),
    Defect('a vector that begins in a row may end behind it', 'validate/ends.py', '        many = by > 1 and', '        many = by < 1 and', 'tests/validate/test_build.py::test_what_was_proved_is_built_without_a_word[rows_of_whole_vectors]'),
    Defect('values nested too deep stop a build', 'pipeline.py', 'contextlib.suppress(RecursionError)', 'contextlib.suppress(ZeroDivisionError)', 'tests/validate/test_build.py::test_what_was_proved_is_built_without_a_word[one_pass_of_a_thread_alone]'),
    Defect('an element beside bits has the place of its text', 'obligations/shape.py', '        if bits and isinstance(term, Read) and term.index:', '        if not bits and isinstance(term, Read) and term.index:', 'tests/meaning/test_meaning.py::test_what_is_right_is_proved_or_at_least_not_refuted[bits_of_mirrored_elements]'),
    Defect('a fold may end before it begins', 'model/assignment.py', '        total = _natural(total, setting.where)', '        total = total', 'tests/meaning/test_meaning.py::test_what_is_right_is_proved_or_at_least_not_refuted[a_fold_that_ends_before_it_begins]'),
    Defect('a finite number beyond f64 is an infinity', 'runtime/calls.py', '(not math.isfinite(double) and double != value == value)', '(double != double and value == value)', 'tests/emit/test_launcher.py'),
    # two points
    Defect('a digit that is as much as all beside it is the same', 'proof/points.py', 'plus(plus(w, high, -1), ONE, -1)', 'plus(w, high, -1)', 'tests/proof/test_points.py'),
    Defect('a digit has another weight at another point', 'proof/points.py', 'if not weight or plus(weight, against) or', 'if not weight or', 'tests/proof/test_points.py'),
    # what is found when it is asked for, and what is read again
    Defect('cells that are made of a circle have a closed form', 'obligations/turns.py', 'except CycleError:\n            return False', 'except CycleError:\n            return True', 'tests/obligations/test_turns.py'),
    Defect('all cells of a loop are asked', 'obligations/turns.py', 'n: replace(self.ends[n], content=partial(self.left, n, AFTER))', 'n: replace(self.ends[n], content=self.left(n, AFTER))', 'tests/obligations/test_turns.py'),
    Defect('a machine is what it was for another op', 'model/elaborate.py', '(machine, *(d for d in file.declarations if not isinstance(d, tree.Machine)))', '(machine,)', 'tests/model/test_again.py'),
    Defect('a machine that was read beside a mistake is right', 'model/elaborate.py', '    if not len(problems) and len(problems.warnings) == warned:', '    if len(problems.warnings) == warned:', 'tests/model/test_again.py'),
    Defect('a piece that has moved is where it was', 'syntax/parse.py', '    start: int\n    line: int\n    source', '    start: int = field(compare=False)\n    line: int = field(compare=False)\n    source', 'tests/syntax/test_parse.py'),
    Defect('a process that is just made does not know that a job is unwanted', 'lsp/worker.py', '        signal.signal(signal.SIGUSR1, lambda number, _: UNWANTED.append(number))\n', '', 'tests/lsp/test_worker.py'),
    Defect('a job that is waited for goes with the process that was to do it', 'lsp/worker.py', '            if child.next is not None:\n                self.begin(child.next)\n            elif child.busy:', '            if child.busy:', 'tests/lsp/test_worker.py'),
    Defect('lanes that are not there write cells too', 'simulate/nest.py', 'int(mask.sum())', 'mask.size', 'tests/simulate/test_simulate.py'),
)  # fmt: skip
