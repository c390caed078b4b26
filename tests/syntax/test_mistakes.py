"""What is said of malformed texts: every known mistake by its example, brackets, single missing words, and anything at all.

Comes in: `grammar/mistakes.toml`, short malformed texts, the examples damaged at random. Goes out: nothing, or a bad message.
The one idea: a message names no part of the parser, points into the text, and comes for every text that is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.syntax.texts import EXAMPLES, step
from tinygpu.commands.explain import pages
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.report import render
from tinygpu.syntax.format import format_file
from tinygpu.syntax.grammar import shipped_parser
from tinygpu.syntax.lexer import scan, significant
from tinygpu.syntax.mistakes import mistakes
from tinygpu.syntax.parse import parse
from tinygpu.syntax.reader import trace

KNOWN = [(m, example) for m in mistakes() for example in m.examples]
INTERNAL = re.compile(r"_NL|NEWLINE|LPAR|RPAR|LSQB|RSQB|LBRACE|\$END|__|FOLD|STRAY|NAME|NUMBER|Token|[Ll]ark|LALR")


def machine(clause: str) -> str:
    return f"machine m : f {{\n  {clause}\n}}\n"


def op(equation: str) -> str:
    return f"op f(x: f32[n]) -> (y: f32[n]) {{\n  {equation}\n}}\n"


def refused(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(TinygpuError) as error:
        parse(text, "a.tgpu")
    return error.value.diagnostics


def check(found: Diagnostic, text: str) -> None:
    """A message that may be shown."""
    assert found.code in pages() and found.code < "TG100" and found.title
    said = [found.title, *(label.text for label in found.labels), *found.helps]
    assert not [s for s in said if INTERNAL.search(re.sub(r"`[^`]*`", "", s))], said
    for label in found.labels:
        assert label.span.file == "a.tgpu" and 0 <= label.span.start <= label.span.end <= len(text)
        assert 1 <= label.span.line <= text.count("\n") + 1 and label.span.column >= 1


@pytest.mark.parametrize(("mistake", "example"), KNOWN, ids=[f"{m.code}-{n}" for n, (m, _) in enumerate(KNOWN)])
def test_every_example_is_told_as_its_mistake(mistake: object, example: str) -> None:
    (found, *_) = refused(example)
    assert found.code == mistake.code and found.helps  # type: ignore[attr-defined]
    check(found, example)


@pytest.mark.parametrize("mistake", mistakes(), ids=[f"{m.code}-{n}" for n, m in enumerate(mistakes())])
def test_every_fix_is_read(mistake: object) -> None:
    parse(mistake.fixed)  # type: ignore[attr-defined]


def test_there_are_many() -> None:
    assert len({m.code for m in mistakes()}) >= 40


MALFORMED = [
    op("y[i] = x[i] x[i]"),
    op("y[i] = "),
    op("y[i] = exp()"),
    machine("keep x register"),
    machine("reduce s over w"),
    step("for k < 3 in registr { barrier }"),
    machine("work grid = (g, block = (t: 256)\n  time k"),
    machine("work grid = (g)), block = ()"),
    op("y[i] = (x[i] + x[i]] * 2"),
    op("y[i] = x[i") + "param p = 3",
    op("y[i] = x[i]").replace("}", "") + op("y[i] = x[i]"),
    "op f(x: f32[n]) -> (y: f32[n]) {\n",
    "}",
    "op max(x: f32) -> (y: f32[]) { y[] = x }",
    step("wait[i] = 3"),
    "param größe = 3",
    op("y[i] = x[\u00a0i]"),
    "param a = 3\0",
    machine("work grid = (g)\n  j = (c)"),
    machine("wrk grid = (g)"),
    step("barier"),
    "machin m : f { }",
]


def test_what_could_stand_there() -> None:
    (found,) = refused("param a = 3\0")
    assert (found.code, found.title, found.span.column) == ("TG002", "the text holds a NUL byte", 12)
    (found,) = refused("param BM: 64")
    assert found.labels[0].text == "here could stand `=`, `>=` or `in`"
    (found,) = refused("op f(x: f32[n]) (y: f32[n]) { y[i] = x[i] }")
    assert found.title == "`->` is missing before `(`"


def test_the_first_word_of_a_step_is_known_where_it_is_misspelt() -> None:
    """Whatever the parser takes there, but for what is only a name."""
    (words,) = (mistake.words for mistake in mistakes() if mistake.code == "TG064")
    before = trace([*significant(scan("machine m : f { program {"), [])][:-1])
    could = {name for name in shipped_parser().symbols(before.accepts()) if name[0].islower()}
    assert could == {word.split()[0] for word in words}


TYPOS = {
    "asinc wgmma_m64n128k16_n(acc[0, 0], sA[0, 0], sB[0, 0])": "async",
    "comit mma": "commit",
    "brrier": "barrier",
    "sharde s: f32[64]": "shared",
    "fense async": "fence",
    "waite mma 0": "wait",
    "lett a = 3": "let",
    "atmoic s[] += 1": "atomic",
    "warp barier": "barrier",
    "copy asinc s[a] = x[a]": "async",
    "for k < 4 in registr { barrier }": "register",
}


@pytest.mark.parametrize("text", TYPOS)
def test_a_misspelt_word_of_a_step_is_told(text: str) -> None:
    (found,) = refused(step(text))
    assert found.helps == (f"did you mean `{TYPOS[text]}`?",)
    check(found, step(text))


def test_reading_goes_on_at_the_next_declaration() -> None:
    text = op("y[i] == x[i]") + machine("thrads 2") + "param a = 3\n" + "param b = 3;\n" + op("y[i] = x[i]")
    assert [(d.code, d.span.line) for d in refused(text)] == [("TG022", 2), ("TG052", 5), ("TG011", 8)]
    unclosed = op("y[i] = x[i]").replace("}", "") + op("y[i] = x[i];")
    assert [(d.code, d.span.line) for d in refused(unclosed)] == [("TG003", 1), ("TG011", 5)]
    assert len(refused("param a = 3;\n" * 100)) == 20


NESTED = {
    "parentheses": lambda n: f"param p = {'(' * n}1{')' * n}",
    "a sum": lambda n: "param p = 1" + " + 1" * n,
    "signs": lambda n: f"param p = {'-' * n}1",
    "choices": lambda n: "param p = " + "1 if c else " * n + "0",
    "indices": lambda n: f"param p = {'x[' * n}1{']' * n}",
    "calls": lambda n: f"param p = {'exp(' * n}1{')' * n}",
    "blocks": lambda n: step("if c { " * n + "}" * n),
    "clauses": lambda n: machine("launch a { " * n + "}" * n),
}


@pytest.mark.parametrize("name", sorted(NESTED))
def test_what_is_read_is_not_too_deep_for_what_comes_after(name: str) -> None:
    """Python's own recursions over a tree of the greatest depth that is read: equality, hash, repr, and the formatter."""
    for text in (NESTED[name](120), NESTED[name](5000), NESTED[name](50_000)[:300_000]):
        assert [(d.code, d.title) for d in refused(text)] == [("TG005", "nested too deeply: more than 120 levels")]
    tree = parse(NESTED[name](110))
    assert parse(format_file(tree)) == tree
    assert hash(tree) == hash(parse(NESTED[name](110))) and len(repr(tree)) > 1000


WORDS = sorted(
    {t.text for text in EXAMPLES.values() for t in scan(text) if t.text} | {";", "**", "é", "\0", '"', "==", "range", "&&"}
)


DAMAGED = st.tuples(
    st.sampled_from(sorted(EXAMPLES)), st.integers(0, 10_000), st.sampled_from(("", "twice", *WORDS)), st.booleans()
)
ANY = st.lists(st.sampled_from((*WORDS, "\n", "#", "param", "(", ")", "[", "]")), max_size=40).map(" ".join) | st.text(max_size=60)


def damaged(name: str, place: int, word: str, keep: bool) -> str:
    """A word taken away, doubled, replaced or put in."""
    words = list(scan(EXAMPLES[name]))
    hit = words[place % len(words)]
    put = f"{hit.text} {hit.text}" if word == "twice" else f"{hit.text if keep else ''} {word} "
    return EXAMPLES[name][: hit.start] + put + EXAMPLES[name][hit.end :]


@settings(max_examples=400)
@given(DAMAGED.map(lambda how: damaged(*how)) | ANY)
def test_any_text_is_read_or_refused_with_messages_that_may_be_shown(text: str) -> None:
    try:
        parse(text, "a.tgpu")
    except TinygpuError as error:
        for found in error.diagnostics:
            check(found, text)


def test_the_messages_of_all_examples(golden: Callable[[str, str], None]) -> None:
    """What a user reads for each known mistake and some others, as it is printed: code, place, title and helps."""
    texts = [example for _, example in KNOWN] + [text for text in MALFORMED if text.isprintable() or "\n" in text]
    shown = [f"{text.rstrip()}\n\n{chr(10).join(render(d, {'a.tgpu': text}) for d in refused(text))}" for text in texts]
    golden("syntax/messages.txt", f"\n\n{'─' * 100}\n".join(shown) + "\n")
