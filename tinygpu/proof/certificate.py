"""A proof as a file: what was proved, of which program, how, and what it rests on.

Comes in: a `Proof`, or the text of a certificate. Goes out: a `Certificate`, and its text: JSON, sorted, an obligation a line.
The one idea: it holds the program itself and the hash of each formula, so whoever has it can state the obligations again, from the
program alone, see that they are these, and hand them to any solver. The same proof is the same text, to the byte, and no other text is read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import z3

from tinygpu.category.smtlib import name_of, script
from tinygpu.category.term import DTYPES, Term, variables
from tinygpu.category.term import text as spoken
from tinygpu.model.source import declares
from tinygpu.obligations.obligation import Claim, Gap, Inhabited, Obligation
from tinygpu.program.render import plain_name, render_machine, standalone
from tinygpu.program.step import Program
from tinygpu.proof.assumed import Numerics, numerics_of
from tinygpu.proof.kernel import Proof, Theorem
from tinygpu.record import dataclass, parts

VERSION = 2
METHODS = ("structure", "z3", "model", "law")
TITLE = re.compile(
    r"(\w+)(?:\[((?:\w+=)?\w+(?:, (?:\w+=)?\w+)*)\])?", re.ASCII
)  # `cast_v8[op=narrow, T=f16]`, and its op: `narrow[f16]`
PROVED = {"verdict": "proved"}  # of every row: what is not proved has no certificate
Witness = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One obligation: its property, the code it would fail with, a sentence, the hash of its formula, and how it was settled."""

    kind: str
    code: str
    sentence: str
    formula: str
    method: str
    rlimit: int = 0
    witness: Witness = ()

    @property
    def claim(self) -> tuple[str, str, str]:
        """What it says, whoever proves it."""
        return self.kind, self.code, self.formula


@dataclass(frozen=True, slots=True)
class Certificate:
    """`program` is a spec of its own; `source` hashes the text of the spec it came from, `kernels` what was emitted, by name."""

    machine: str
    op: str
    program: str
    preconditions: tuple[str, ...]
    promises: tuple[str, ...]
    numerics: Numerics
    obligations: tuple[Entry, ...]
    solver: str = ""
    source: str = ""
    kernels: tuple[tuple[str, str], ...] = ()

    @property
    def proof(self) -> str:
        """The hash of what was proved, of which program."""
        return hash_of(self.program, (e.claim for e in self.obligations))

    def text(self) -> str:
        """The file: all that is in it, and the hash of all that."""
        plain = parts(self) | {"version": VERSION, "proof": self.proof, "program_hash": sha(self.program)}
        plain["numerics"] = parts(self.numerics)
        plain["program"] = self.program.rstrip("\n").split("\n")
        plain["kernels"] = dict(self.kernels)
        plain["obligations"] = [_row(e) for e in self.obligations]
        return _object(plain | {"hash": sha(_object(plain))})

    def differs(self, program: Program) -> tuple[str, ...]:
        """What it says of its program otherwise than the program does."""
        found = [*misnamed(self.machine, self.op, program)]
        for what, ours, theirs in (
            ("preconditions", self.preconditions, spoken_all(program.where)),
            ("promises", self.promises, spoken_all(program.op.promises)),
        ):
            if ours != theirs:
                found.append(f"its {what} are {' and '.join(ours) or 'none'}, its program's {' and '.join(theirs) or 'none'}")
        if self.numerics != (numerics := numerics_of(program)):
            found.append(f"its numerics are others than its program's: {numerics.sentence}")
        return tuple(found)


def misnamed(machine: str, op: str, program: Program) -> tuple[str, ...]:
    """What a title and the name of an op say otherwise than the program that they are said of. Its name is the title with other signs. The op
    of a family has the dtype that the title chooses, and is declared with it; what params the title chooses is seen in no program."""
    found = []
    title, name, own = TITLE.fullmatch(machine), TITLE.fullmatch(op), program.op.family
    if title is None or plain_name(machine) != plain_name(program.name):
        found.append(f"it is of a machine {machine!r}, its program of {program.name!r}")
    chosen = dict(part.rpartition("=")[::2] for part in ((title and title[2]) or "").split(", "))
    dtypes = name[2].split(", ") if name and name[2] else []
    same = name is not None and name[1] == own == chosen.get("op", own)
    if not same or [d for d in chosen.values() if d in DTYPES] != dtypes or not all(declares(program.op.source, d) for d in dtypes):
        found.append(f"it is of an op {op!r}, its program of {program.op.name!r}")
    return tuple(found)


def spoken_all(guards: Iterable[Term]) -> tuple[str, ...]:
    """Guards in words."""
    return tuple(map(spoken, guards))


def sha(text: str) -> str:
    """The hash that the file gives of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def hash_of(program: str, claims: Iterable[tuple[str, str, str]]) -> str:
    """The hash of the text of a program with the claims about it, whoever proved them."""
    return sha("\n".join([program, *(" ".join(claim) for claim in sorted(set(claims)))]))


def certify(proof: Proof, source: str = "", kernels: tuple[tuple[str, str], ...] = ()) -> Certificate:
    """`Proof → Certificate`; `source` is the text of the machine's spec, `kernels` the texts that were emitted, by name."""
    program = proof.program
    if proof.numbers:
        raise ValueError("a certificate lists what is stated of its program alone: kernel.by_itself proves that of a point")
    return Certificate(
        program.name,
        program.op.name,
        program_text(program),
        spoken_all(program.where),
        spoken_all(program.op.promises),
        numerics_of(program),
        entries(proof.theorems),
        f"z3 {z3.get_version_string()}",
        sha(source) if source else "",
        tuple((name, sha(text)) for name, text in kernels),
    )


def program_text(program: Program) -> str:
    """The program with its op, as a spec of its own; the program alone for an op that was made in Python."""
    return standalone(program, ()) if program.op.source else render_machine(program)


def entries(theorems: Iterable[Theorem]) -> tuple[Entry, ...]:
    """The obligations of a proof, those that say the same of several places in the text once."""
    found: dict[tuple[object, str], Entry] = {}
    for e in map(entry, theorems):
        found.setdefault((e.claim, e.sentence), e)
    return tuple(found.values())


def entry(theorem: Theorem) -> Entry:
    """`Theorem → Entry`."""
    claim = theorem.claim
    sentence = claim.reason if isinstance(claim, Gap) else claim.sentence
    return Entry(claim.kind, claim.code, sentence, _name(claim), theorem.method, theorem.effort, witness_of(theorem))


def witness_of(theorem: Theorem) -> Witness:
    """The point at which hypotheses have a model, in the names of the claim."""
    claim = theorem.claim
    names = {v for h in claim.hypotheses for v in variables(h)} if isinstance(claim, Inhabited) else set()
    return tuple((name, value) for name, value in sorted(theorem.witness) if name in names)


def _name(claim: Claim) -> str:
    """The hash of its formula."""
    match claim:
        case Obligation(hypotheses=hypotheses, goal=goal):
            return _named(hypotheses, goal)
    return name_of(formula(claim))


@lru_cache(maxsize=1024)  # the machines of a spec have many in common
def _named(hypotheses: tuple[Term, ...], goal: Term) -> str:
    return name_of(script(hypotheses, goal))


def formula(claim: Claim) -> str:
    """The SMT-LIB text of a claim: unsatisfiable where an obligation holds, satisfiable where there is a point."""
    match claim:
        case Obligation(hypotheses=hypotheses, goal=goal):
            return script(hypotheses, goal)
        case Inhabited(hypotheses=hypotheses):
            return script(hypotheses, None)
    raise ValueError(f"no formula states {claim.title}")


def read(text: str) -> Certificate:
    """The certificate of a text: the one whose text it is, to the byte. Raises ValueError with what is wrong with it."""
    try:
        plain: dict[str, Any] = json.loads(text)
        if plain["version"] != VERSION:
            raise ValueError(f"version {plain['version']} of certificates is not known here")
        found = Certificate(
            plain["machine"],
            plain["op"],
            "\n".join(plain["program"]) + "\n",
            tuple(plain["preconditions"]),
            tuple(plain["promises"]),
            Numerics(**{**plain["numerics"], "functions": tuple(plain["numerics"]["functions"])}),
            tuple(map(_entry, plain["obligations"])),
            plain["solver"],
            plain["source"],
            tuple(sorted(plain["kernels"].items())),
        )
        words = (
            found.machine,
            found.op,
            found.solver,
            found.source,
            *found.preconditions,
            *found.promises,
            *sum(found.kernels, ()),
        )
        words += tuple(word for e in found.obligations for word in (*e.claim, e.sentence))
        if not all(isinstance(word, str) for word in words):
            raise TypeError("something else than text stands where text does")
        whole = found.text()
    except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError(f"not a certificate: {type(error).__name__} {error}") from None
    if whole != text:
        raise ValueError("the hashes in it are not those of its content, or it is not written as it would be: it was changed")
    return found


def _entry(row: dict[str, Any]) -> Entry:
    """The entry of a row. A row that says anything else than that it was proved gives no entry with its text."""
    witness = tuple(sorted(row.get("witness", {}).items()))
    found = Entry(**{**{key: value for key, value in row.items() if key not in PROVED}, "witness": witness})
    numbers = (found.rlimit, *(value for _, value in witness))
    if found.method not in METHODS or any(type(n) is not int for n in numbers):
        raise TypeError(f"in the row of {found.kind}")
    return found


def _row(entry: Entry) -> dict[str, object]:
    """An obligation as plain data, without what is empty."""
    row = {key: value for key, value in parts(entry).items() if value not in (0, ())}
    return row | PROVED | ({"witness": dict(entry.witness)} if entry.witness else {})


def _object(plain: dict[str, Any]) -> str:
    """A key a line, sorted."""
    return "{\n" + ",\n".join(f'"{key}": {_value(plain[key])}' for key in sorted(plain)) + "\n}\n"


def _value(value: object) -> str:
    """JSON; a list has an element a line."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"  {_flat(v)}" for v in value) + "\n]"
    return _flat(value)


def _flat(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
