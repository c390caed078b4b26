"""Random programs, many of them: `python -m tests.meaning [count] [seed] [result.json] [processes]`.

Comes in: how many, from which seed on, where the result goes, and by how many processes. Goes out: what the checker and the judge disagree about,
with its text, then a table; the exit code is 1 if one is unsound. The one idea: program number k of seed s is the same everywhere.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.meaning.driver import Answer, alone
from tests.meaning.edits import program

KEPT = ("unsound", "false refutation", "missed", "proved and loose", "crash", "hang", "died", "refused")
BEYOND = re.compile("exp|log|sqrt|sigmoid|tanh")  # functions of which the prover knows few laws


def kind(found: Answer, text: str) -> str:
    """Who is right."""
    checker, judged = found["checker"], found["judge"]
    match checker, judged:
        case (("elaboration" | "crash" | "hang" | "died" | "refused"), _):
            return checker  # type: ignore[no-any-return]
        case _, "cannot":
            return "cannot judge"
        case "proved", "wrong":
            return "unsound"
        case "proved", "loose":
            return "proved and loose"
        case "refuted", "right" if found["codes"] in (["TG511"], ["TG512"]):
            return "for sizes of which one is 0, or a store that is never reached"
        case "refuted", "right":
            return "false refutation"
        case "unknown", "right":
            return "missed, a law of functions" if BEYOND.search(text) else "missed"
        case _, "loose":
            return "loose, not proved"
    return f"{checker} and {judged}"


def main(arguments: list[str]) -> int:
    """The run, printed as it goes."""
    count, seed = (int(a) for a in (*arguments[:2], *("1000", "0")[len(arguments) :]))
    counts: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    kept = []

    def asked(number: int) -> tuple[int, str, Answer]:
        text = program(seed, number)
        return number, text, alone(text)

    with ThreadPoolExecutor(int(arguments[3]) if len(arguments) > 3 else 1) as processes:
        for number, text, found in processes.map(asked, range(count)):
            name = kind(found, text)
            counts[name] += 1
            if name in KEPT:
                codes[name + " " + " ".join(sorted(set(found["codes"])))] += 1
                kept.append({"kind": name, "number": number, "text": text, **found})
                print(
                    f"── {name} {seed}:{number} {found['codes']} {found['said'][:200]} | {found['why'][:200]}\n{text}", flush=True
                )
    if len(arguments) > 2:
        result = {"command": f"python -m tests.meaning {count} {seed}", "counts": dict(counts.most_common()), "kept": kept}
        Path(arguments[2]).write_text(json.dumps(result | {"codes": dict(codes.most_common())}, indent=1) + "\n", encoding="utf-8")
    for name, many in counts.most_common():
        print(f"{many:7}  {name}")
    return int(counts["unsound"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
