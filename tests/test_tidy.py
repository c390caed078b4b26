"""The house rules, as tests: the direction of imports, the size of files and functions, what every file and every error has.

Comes in: the checkout. Goes out: a failure that names the file and the rule. The one idea: a rule that is not tested is a wish.
"""

from __future__ import annotations

import ast
import graphlib
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tinygpu.category.operation import FUNCTION
from tinygpu.commands.explain import pages

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "tinygpu").rglob("*.py"))
ORDER = (  # an import may only point to an earlier row, or stay within its own part
    ("record",),
    ("diagnostic",),
    ("runtime",),  # imports nothing of ours: modules that are built call it where tinygpu is not
    ("category",),
    ("syntax",),
    ("model",),
    ("hardware",),
    ("program",),
    ("derive",),
    ("simulate",),
    ("cost",),
    ("obligations",),
    ("proof",),
    ("algebra",),
    ("rewrite",),
    ("recheck",),
    ("schedule",),
    ("emit",),
    ("validate",),
    ("run",),
    ("pipeline",),
    ("whole",),
    ("torch",),
    ("tune",),
    ("puzzles",),
    ("pictures",),
    ("report", "commands", "lsp", "cli", "testing", "plugin", "__main__", "__init__"),
)
RANK = {part: rank for rank, row in enumerate(ORDER) for part in row}
ALONE = {  # a part or a file that sees less than all that is before it: what it may see
    "category": ("diagnostic", "record"),
    "proof/kernel.py": ("category", "obligations", "diagnostic", "program", "record"),
    "validate": tuple(RANK.keys() - {"emit"}),
}
FILE_LINES, FUNCTION_LINES, MEDIAN_FILE, USUAL_FUNCTION = 300, 70, 150, 40


def names(path: Path) -> str:
    return path.relative_to(ROOT / "tinygpu").as_posix()


def part(path: Path) -> str:
    return names(path).split("/")[0].removesuffix(".py")


TEXTS = {path: path.read_text(encoding="utf-8") for path in FILES}


@cache
def trees() -> tuple[tuple[Path, ast.Module], ...]:
    """Every file, parsed once."""
    return tuple((path, ast.parse(text)) for path, text in TEXTS.items())


def none(found: Iterator[str]) -> None:
    """Nothing was found; else all of it is said."""
    lines = list(found)
    assert not lines, "\n".join(lines)


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every part of tinygpu that a file imports, also inside functions, but for types only."""
    skipped = _for_types(tree)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tinygpu":
            below = node.module.split(".")[1:]
            for name in [below[0]] if below else [alias.name for alias in node.names]:
                yield node.lineno, name
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("tinygpu."):
                    yield node.lineno, alias.name.split(".")[1]


@cache
def _for_types(tree: ast.Module) -> set[int]:
    """What only type checkers read, by identity."""
    return {id(n) for node in ast.walk(tree) if _types_only(node) for n in ast.walk(node)}


def _types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def test_imports_point_leftwards():
    none(backwards())


def backwards() -> Iterator[str]:
    for path, tree in trees():
        mine = part(path)
        if mine not in RANK:
            yield f"{names(path)} is in no part of the flow: add it to ORDER"
            continue
        for number, other in imported(tree):
            if other == mine or other.startswith("__"):
                continue
            if other not in ALONE.get(names(path), ALONE.get(mine, RANK)):
                yield f"{names(path)}:{number} imports {other}, with which it may share nothing"
            if RANK[other] >= RANK[mine] and not RANK[other] == RANK[mine] == len(ORDER) - 1:
                yield f"{names(path)}:{number} imports {other}, which is downstream of {mine}"


def test_no_imports_run_in_a_circle():
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): tree for path, tree in trees()}
    needs: dict[str, set[str]] = {
        name: {other for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module and id(node) not in _for_types(tree)
               for other in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)) if other in files} - {name}
        for name, tree in files.items()
    }  # fmt: skip
    graphlib.TopologicalSorter(needs).prepare()  # raises CycleError, which names the circle


def test_one_word_has_one_meaning():
    """No name that other files import is defined in more than three; a command's `run` and `configure` are one protocol."""
    defined: dict[tuple[str, str], set[str]] = {}
    for path, tree in trees():
        for name in (n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)):
            defined.setdefault((path.stem, name), set()).add(names(path))
    used = {
        (str(node.module).rpartition(".")[2], alias.name)
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes: dict[str, set[str]] = {}
    for (stem, name), where in defined.items():
        if (stem, name) in used and name not in ("run", "configure"):
            homes.setdefault(name, set()).update(where)
    none(f"{name} is defined in {', '.join(sorted(where))}" for name, where in homes.items() if len(where) > 3)


def test_files_are_short_and_say_what_they_are_for():
    counts = {path: text.count("\n") for path, text in TEXTS.items()}
    none(f"{names(path)} has {count} lines, more than {FILE_LINES}" for path, count in counts.items() if count > FILE_LINES)
    none(f"{names(path)} has no docstring" for path, tree in trees() if not ast.get_docstring(tree))


def functions() -> Iterator[tuple[str, int]]:
    """Every function, as the place where it is, and its lines."""
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                yield f"{names(path)}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1


def test_functions_are_short_and_files_and_functions_usually_small():
    assert statistics.median(text.count("\n") for text in TEXTS.values()) <= MEDIAN_FILE
    none(f"{place} has {length} lines" for place, length in functions() if length > FUNCTION_LINES)
    long = [length > USUAL_FUNCTION for _, length in functions()]
    assert sum(long) <= len(long) // 50, f"{sum(long)} of {len(long)} functions are longer than {USUAL_FUNCTION} lines"


def test_no_bare_except_and_no_visitor():
    none(f"{names(path)}:{line} {what}" for path, tree in trees() for node in ast.walk(tree) for line, what in poor(node))


def poor(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.ExceptHandler):
        wide = node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "BaseException")
        if wide and not any(isinstance(n, ast.Raise) for n in ast.walk(node)):
            yield node.lineno, "swallows every exception"
    if isinstance(node, ast.ClassDef) and any("Visitor" in ast.unparse(base) for base in node.bases):
        yield node.lineno, "is a visitor"


def test_private_names_are_used():
    none(
        f"{names(path)} does not use {name}"
        for path, tree in trees()
        if part(path) != "runtime"  # whose files are one
        for node in tree.body
        for name in _defined(node)
        if name.startswith("_") and not name.startswith("__") and len(re.findall(rf"\b{re.escape(name)}\b", TEXTS[path])) < 2
    )


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    return [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []


def test_every_name_of_the_runtime_is_used():
    """By the runtime itself, or by what is emitted."""
    made = ROOT / "tinygpu" / "program" / "instruction.py"  # what makes the names that kernels use
    inside = {path: text for path, text in TEXTS.items() if part(path) == "runtime"}
    functions = (f"{name}_{kind}" for name, row in FUNCTION.items() if not row.cpu for kind in ("f32", "f64"))
    every = "\n".join([*inside.values(), *functions, *(text for path, text in TEXTS.items() if part(path) == "emit"), TEXTS[made]])
    names_ = [name for path in inside for node in ast.parse(TEXTS[path]).body for name in _defined(node)]
    none(f"nothing calls {name}" for name in names_ if len(re.findall(rf"\b{re.escape(name)}\b", every)) < 2)


def test_every_name_of_the_runtime_is_given_once():
    """Its files become one, where a second name takes the place of the first."""
    texts = (text for path, text in TEXTS.items() if part(path) == "runtime" and path.name != "__init__.py")
    given = Counter(name for text in texts for node in ast.parse(text).body for name in _defined(node))
    none(f"{name} is given {times} times" for name, times in given.items() if times > 1)


def test_every_error_has_a_page_and_every_page_an_error():
    for code, page in pages().items():
        assert page.startswith(f"# {code}: "), f"docs/errors/{code}.md does not begin with its code"
    used = {code for _, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
            for code in re.findall(r"^TG\d{3}$", node.value)}  # fmt: skip
    assert used <= pages().keys(), f"without a page: {sorted(used - pages().keys())}"
    said = {code for folder in ("tinygpu", "grammar") for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".toml")
            for code in re.findall(r"TG\d{3}", p.read_text(encoding="utf-8"))}  # fmt: skip
    assert pages().keys() <= said, f"nothing says {sorted(pages().keys() - said)}"


def test_every_error_is_seen_in_a_test():
    texts = "\n".join(
        p.read_text(encoding="utf-8") for p in sorted((ROOT / "tests").rglob("*")) if p.suffix in (".py", ".tgpu", ".txt", ".toml")
    )
    seen = set(re.findall(r"TG\d{3}", texts)) | {p.stem[:5] for p in (ROOT / "tests" / "wrong").rglob("TG*")}
    assert pages().keys() <= seen, f"no test sees {sorted(pages().keys() - seen)}"


@pytest.mark.parametrize(("spec", "machine"), [("saxpy", 0), ("matmul_shared", 0), ("histogram", -1), ("norm", 0)])
def test_checking_does_not_import_what_only_running_needs(spec: str, machine: int):
    code = (
        f"import sys; from tinygpu import pipeline; spec = pipeline.load('specs/{spec}.tgpu');"
        f"proof = pipeline.check(spec.machines[{machine}]); assert isinstance(proof, pipeline.Proof);"
        "print([m for m in ('numpy', 'numba', 'sympy', 'mpmath', 'cuda', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_package_of_the_checkout_is_a_package_of_the_wheel():
    import tomllib

    declared = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"])
    folders = {"tinygpu", *(f"tinygpu.{p.parent.relative_to(ROOT / 'tinygpu').as_posix().replace('/', '.')}" for p in FILES)} - {
        "tinygpu.."
    }
    assert {f for f in folders if not f.endswith(".")} | {
        "tinygpu.grammar",
        "tinygpu.errors",
        "tinygpu.docs",
        "tinygpu.specs",
    } == declared


def test_nothing_committed_names_a_place_it_was_made_at():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".tgpu", ".txt", ".json", "") and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            for place in (ROOT, Path.home(), Path(sys.prefix), Path(sys.base_prefix)):  # of the machine that runs this
                assert len(place.parts) < 2 or f"{place}/" not in text, f"{name} names {place}"
            assert not re.search(r"(?<![\w.}])/(home|Users)/\w", text), f"{name} names somebody's home"
