"""The language server, by a real client: what it says of texts as they are written, and what it answers.

Comes in: texts, edits, questions. Goes out: messages, verdicts, places, edits.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="session")

SPEC = """# 𝒚 = a·x, whose first letter takes two units of UTF-16
op scale(a: f32, x: f32[n]) -> (z: f32[n]) {
  z[i] = a * x[i]  # 𝒙
}

machine v4 : scale {
  work grid = (g), block = (t: 256)
  compute i = (g, t, v: 4)
  vector v
}

machine unguarded : scale {
  work grid = (g: ceil(n / 256)), block = (t: 256)
  program { z[g*256 + t] = a * x[g*256 + t] }
}
"""


def words(found):
    return "\n".join(one.message for one in found)


async def test_verdicts_come_and_stay_what_they_are(opened):
    text = opened(SPEC)
    (one,) = await text.said(lambda found: found)
    assert one.code == "TG203" and "smallest counterexample" in one.message and one.severity == types.DiagnosticSeverity.Error
    assert text.held(one.range) == "x[g*256 + t]"
    lines = await text.lenses(lambda all: "moves" in all)
    assert lines[0].startswith("proved · all n · ") and "moves" in lines[0] and lines[1].startswith("refuted · TG203")
    text.change("t: 256)\n  compute", "t: 128)\n  compute")
    await text.lenses(
        lambda all: all.startswith("proved") and "kept" not in all.split("\n")[0]
    )  # the second may be of another test
    text.change("t: 128)\n  compute", "t: 256)\n  compute")
    await text.lenses(lambda all: "proved" in all and "before" not in all)


async def test_mistakes_are_said_at_once_and_verdicts_stay(opened):
    text = opened(SPEC)
    await text.said(lambda found: any(one.code == "TG203" for one in found))
    text.change("grid = (g),", "grid = (g,")
    found = await text.said(lambda found: any(one.code < "TG1" for one in found))
    assert [one.code for one in found] == ["TG003", "TG203"]
    lines = await text.lenses(lambda all: "not read" in all)
    assert "not read · before this edit proved" in lines[0] and lines[1].startswith("refuted")
    text.change("grid = (g,", "grid = (g),")
    await text.lenses(lambda all: "not read" not in all)
    text.change("a * x[i]", "a * y[i]")
    found = await text.said(lambda found: any(one.code == "TG101" for one in found))
    assert any("before this edit" in one.message for one in found)


async def test_fixes_are_offered_and_done(opened, client):
    text = opened(SPEC.replace("a * x[i]", "a * relu(x[i]) + sqr(x[i])"))
    await text.said(lambda found: len(found) >= 2)
    place = types.Range(types.Position(0, 0), text.at(len(text.text)))
    params = types.CodeActionParams(text.id, place, types.CodeActionContext([]))
    found = await client.text_document_code_action_async(params)
    edits = {one.title: one.edit.changes[text.uri][0] for one in found}
    assert {title: edit.new_text for title, edit in edits.items()} == {
        'import "std/functions"': 'import "std/functions"\n',
        "did you mean sqrt?": "sqrt",
    }
    assert text.held(edits["did you mean sqrt?"].range) == "sqr" and text.held(edits['import "std/functions"'].range) == ""


@pytest.mark.parametrize(
    ("word", "more", "wanted"),
    [
        ("x: f32[n]", 0, ("x: f32[n]", "input of scale")),
        ("z[i]", 0, ("z: f32[n]", "output of scale", "z[i] = a*x[i]")),
        ("i = (g", 0, ("i < n", "i = (g*256 + t)*4 + v")),
        ("t: 256", 0, ("t < 256", "block")),
        ("v: 4", 0, ("v < 4", "where memory allows")),
        ("scale(a", 0, ("op scale(a: f32",)),
        ("v4 : scale", 0, ("machine v4", "proved")),
        ("* x[g*256 + t]", 3, ("TG203", "guard")),
        ("a: f32", 0, ("a: f32", "input of scale")),
        ("[n]", 1, ("a size of scale",)),
    ],
)
async def test_hover_says_what_a_name_is(opened, client, word, more, wanted):
    text = opened(SPEC)
    await text.lenses(lambda all: "proved" in all and "refuted" in all)
    found = await client.text_document_hover_async(types.HoverParams(text.id, text.here(word, more)))
    assert all(one in found.contents.value for one in wanted), found.contents.value


async def test_definition_references_and_rename(opened, client):
    text = opened(SPEC)
    where = await client.text_document_definition_async(types.DefinitionParams(text.id, text.here("scale {", 1)))
    assert where.uri == text.uri and where.range.start == text.here("scale(a")
    context = types.ReferenceContext(True)
    used = await client.text_document_references_async(types.ReferenceParams(context, text.id, text.here("x[i]")))
    assert [text.held(one.range) for one in used] == ["x"] * 3
    edit = await client.text_document_rename_async(types.RenameParams(text.id, text.here("x: f32"), "input"))
    for one in reversed(edit.changes[text.uri]):
        text.text = text.text[: text.offset(one.range.start)] + "input" + text.text[text.offset(one.range.end) :]
    assert text.text == SPEC.replace("x: f32", "input: f32").replace("x[i]", "input[i]").replace("x[g*256", "input[g*256")
    fresh = opened(SPEC)
    for new in ("g", "sum", "2x"):
        with pytest.raises(JsonRpcException, match="TG936"):
            await client.text_document_rename_async(types.RenameParams(fresh.id, fresh.here("t: 256"), new))


async def test_names_of_other_files_lead_there(opened, client, place):
    (place / "lib.tgpu").write_text("def doubled(x) = x + x\n")
    text = opened('import "lib"\nop f(x: f32[n]) -> (y: f32[n]) { y[i] = doubled(x[i]) }\n')
    where = await client.text_document_definition_async(types.DefinitionParams(text.id, text.here("doubled")))
    assert where.uri.endswith("/lib.tgpu") and where.range.start.line == 0
    where = await client.text_document_definition_async(types.DefinitionParams(text.id, text.here('"lib"', 2)))
    assert where.uri.endswith("/lib.tgpu")
    with pytest.raises(JsonRpcException, match="another file"):
        await client.text_document_rename_async(types.RenameParams(text.id, text.here("doubled"), "twice"))
    (place / "lib.tgpu").write_text("def tripled(x) = x + x\n")
    changed = types.FileEvent((place / "lib.tgpu").as_uri(), types.FileChangeType.Changed)
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))
    assert "doubled" in words(await text.said(lambda found: found))


async def test_formatting_outline_colours_and_completion(opened, client):
    text = opened(SPEC.replace("  z[i] = a * x[i]", "  z[i]=a*x[i]"))
    options = types.FormattingOptions(2, True)
    (edit,) = await client.text_document_formatting_async(types.DocumentFormattingParams(text.id, options))
    assert "z[i] = a * x[i]" in edit.new_text and text.held(edit.range) == text.text
    found = await client.text_document_document_symbol_async(types.DocumentSymbolParams(text.id))
    assert [one.name for one in found] == ["scale", "v4", "unguarded"] and len(found[0].children) == 4
    colours = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(text.id))
    assert len(colours.data) % 5 == 0 and colours.data[:3] == (1, 3, 5)
    for word, more, wanted, not_wanted in (
        ("vector v", 7, "v", "machine"),
        ("a*x", 2, "x", "vector"),
        ("compute", 0, "time", "f32"),
    ):
        at = types.CompletionParams(text.id, text.here(word, more))
        labels = {one.label for one in (await client.text_document_completion_async(at)).items}
        assert wanted in labels and not_wanted not in labels, (word, labels)


async def test_a_text_that_cannot_be_formatted_stays(opened, client):
    text = opened("op f(\n")
    options = types.FormattingOptions(2, True)
    assert not await client.text_document_formatting_async(types.DocumentFormattingParams(text.id, options))


async def test_what_is_written_quickly_is_proved_once_and_last(opened, client):
    text = opened(SPEC)
    await text.lenses(lambda all: "proved" in all and "refuted" in all)
    for size in (32, 64, 96, 160):
        text.change(text.text[text.text.index("block = (t: ") :].partition("compute")[0], f"block = (t: {size})\n  ")
    lines = await text.lenses(lambda all: "proving" not in all and "before" not in all)
    assert lines[0].startswith("proved") and "kept" not in lines[0]


async def test_lines_of_windows_and_marks_are_read(opened, client):
    text = opened(SPEC.replace("\n", "\r\n"))
    found = await text.said(lambda found: found)
    assert [one.code for one in found] == ["TG203"] and found[0].range.start.line == SPEC[: SPEC.index("x[g*256 + t]")].count("\n")


async def test_nothing_is_offered_in_comments_and_components_behind_dots(opened, client):
    monoid = (
        "monoid two(first: f32, second: f32) {\n  unit (0, 0)\n  lift (x) = (x, x)\n  combine (a, b) = (a.first + b.first, a.)\n}\n"
    )
    text = opened(monoid + SPEC)

    async def labels(word: str, more: int) -> set[str]:
        at = types.CompletionParams(text.id, text.here(word, more))
        return {one.label for one in (await client.text_document_completion_async(at)).items}

    assert await labels("a.)", 2) == {"first", "second"}
    assert not await labels("whose first", 3)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
async def test_who_proves_may_end_and_is_begun_again(opened, client):
    text = opened(SPEC)
    await text.lenses(lambda all: "proved" in all and "refuted" in all)
    server = client._server.pid
    (worker,) = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    os.kill(int(worker), signal.SIGKILL)

    async def told() -> bool | None:
        return any("TG937" in one.message for one in client.messages) or None

    await text.until(told)
    text.change("t: 256)\n  compute", "t: 512)\n  compute")
    await text.lenses(lambda all: all.startswith("proved") and "before" not in all and "kept" not in all.split("\n")[0])


async def test_what_is_under_way_is_ended_with_its_text(opened, client):
    slow = SPEC.replace("a * x[i]", " + ".join(f"exp(x[i] * {n}.0) / (a + {n}.0)" for n in range(1, 14)))
    text = opened(slow)
    text.change("v: 4", "v: 2")
    text.change(slow[slow.index("exp") : slow.index("}") - 1], "a * x[i]\n")
    lines = await text.lenses(lambda all: "proving" not in all and "proved" in all)
    assert lines[0].startswith("proved")


async def test_positions_are_units_of_utf_16(opened):
    text = opened('import "𝒙𝒙/lib"\n' + SPEC)
    (one, *_) = await text.said(lambda found: found)
    assert one.code == "TG170" and text.held(one.range) == 'import "𝒙𝒙/lib"' and one.range.end.character == 17


async def test_a_name_is_another_one_in_the_files_that_import_it_too(opened, client):
    library = opened("def tripled(x) = 3.0 * x\n", "shared.tgpu")
    user = opened('import "shared"\n# tripled\nop f(x: f32[n]) -> (y: f32[n]) { y[i] = tripled(tripled(x[i])) }\n', "user.tgpu")
    opened("op tripled(x: f32[n]) -> (y: f32[n]) { y[i] = 3.0 * x[i] }\n", "stranger.tgpu")
    at = library.here("tripled")
    used = await client.text_document_references_async(types.ReferenceParams(types.ReferenceContext(False), library.id, at))
    assert [(one.uri, user.held(one.range)) for one in used] == [(user.uri, "tripled")] * 2
    edit = await client.text_document_rename_async(types.RenameParams(library.id, at, "thrice"))
    assert {uri: len(several) for uri, several in edit.changes.items()} == {library.uri: 1, user.uri: 2}
    with pytest.raises(JsonRpcException, match="TG936"):
        await client.text_document_rename_async(types.RenameParams(library.id, at, "f"))
