"""Random programs, many of them: `python -m tests.meaning [count] [seed] [result.json] [processes]`.

Comes in: how many, from which seed on, where the result goes, and by how many processes. Goes out: what the checker and the judge disagree about,
with its text, then a table; the exit code is 1 if one is unsound. The one idea: program number k of seed s is the same everywhere.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.meaning.driver import answers
from tests.meaning.grammar import BEYOND, program

KEPT = ("unsound", "false refutation", "missed", "proved and loose", "crash", "hang", "died", "refused")


def kind(found: dict[str, Any], text: str) -> str:
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
            return "missed, a law of functions" if text.startswith(BEYOND) else "missed"
        case _, "loose":
            return "loose, not proved"
    return f"{checker} and {judged}"


def main(arguments: list[str]) -> int:
    """The run, printed as it goes."""
    count, seed = (int(a) for a in (*arguments[:2], *("1000", "0")[len(arguments) :]))
    kept = Path(arguments[2]) if len(arguments) > 2 else None
    processes = int(arguments[3]) if len(arguments) > 3 else 1
    counts: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    found_all: list[dict[str, Any]] = []
    start = time.perf_counter()
    texts = (program(seed, number) for number in range(count))
    for number, text, found in answers(texts, processes):
        name = kind(found, text)
        counts[name] += 1
        if name in KEPT:
            codes[name + " " + " ".join(sorted(set(found["codes"])))] += 1
            found_all.append({"kind": name, "number": number, "text": text, **found})
            if name in KEPT and name != "proved and loose":
                said = " ".join(found["codes"])
                print(f"── {name} {seed}:{number} {said} {found.get('said', '')[:200]} | {found['why'][:200]}\n{text}", flush=True)
        total = counts.total()
        if kept and (total % 50 == 0 or total == count):
            seconds = round(time.perf_counter() - start)
            result = {"command": f"python -m tests.meaning {count} {seed}", "programs": total, "seconds": seconds}
            result |= {"counts": dict(counts.most_common()), "codes": dict(codes.most_common()), "kept": found_all}
            kept.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name, many in counts.most_common():
        print(f"{many:7}  {name}")
    return int(counts["unsound"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
