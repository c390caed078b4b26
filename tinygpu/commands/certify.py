"""Certificates on the disk: where each lies, and how it is written and found again.

Comes in: specs, machines with their proofs, a folder. Goes out: `FOLDER/SPEC/MACHINE.json`, and `FOLDER/smt2/HASH.smt2` on request.
The one idea: the place of a certificate follows from names alone, and its content from the proof alone, so that writing all of them
again changes nothing where nothing changed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu.commands.common import write
from tinygpu.diagnostic import TinygpuError
from tinygpu.record import dataclass, field

if TYPE_CHECKING:
    from tinygpu.commands.specs import Judged
    from tinygpu.model.machine import Machine
    from tinygpu.pipeline import Loaded
    from tinygpu.proof.kernel import Proof


def place(folder: Path, path: str, machine: Machine) -> Path:
    """Where the certificate of a machine lies.

    >>> from types import SimpleNamespace
    >>> place(Path("proofs"), "specs/cast.tgpu", SimpleNamespace(title="narrow[op=f, T=f16]")).as_posix()
    'proofs/cast/narrow_op_f_T_f16.json'
    """
    name = re.sub(r"\W+", "_", machine.title, flags=re.ASCII).strip("_")
    return folder / ("standard_input" if path == "-" else Path(path).stem) / f"{name}.json"


@dataclass(slots=True)
class Folder:
    """A folder that certificates are written to; `formulas` says whether their texts are too."""

    folder: Path
    formulas: bool = False
    owners: dict[Path, str] = field(default_factory=dict)

    def keep(self, spec: Loaded, judged: Judged) -> None:
        """Write the certificate of a proof; anything else has none. Raises TG904 where two machines would have one place."""
        from tinygpu import pipeline

        if not isinstance(judged.verdict, pipeline.Proof):
            return
        target, owner = place(self.folder, spec.path, judged.machine), f"{judged.machine.title} of {spec.path}"
        if self.owners.setdefault(target, owner) != owner:
            title = f"{target} would be the certificate of {self.owners[target]} and of {owner}"
            raise TinygpuError.of("TG904", title, help="certify them into two folders")
        write(target, pipeline.certificate(spec, judged.machine, judged.verdict).text())
        if self.formulas:
            self.write_formulas(judged.verdict)

    def write_formulas(self, proof: Proof) -> None:
        """One file for each formula, under its hash."""
        from tinygpu.category.smtlib import name_of
        from tinygpu.proof.certificate import formula

        for theorem in proof.theorems:
            text = formula(theorem.claim)
            target = self.folder / "smt2" / f"{name_of(text)}.smt2"
            if not target.exists():
                write(target, text)
