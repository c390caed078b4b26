"""The store as a dataset: every column is in its page, marked times are no verdicts, two stores are one, and a search is drawn.

Comes in: trials, made up or of searches whose workers answer at once. Goes out: rows, pages. The one idea: what is written down for others is complete, or a test fails.
"""

from __future__ import annotations

import json
import re
import sqlite3
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.conftest import ROOT
from tests.tune.fake import AtOnce, host, search, twice
from tinygpu.cli import main
from tinygpu.tune.chart import CHARACTER
from tinygpu.tune.encoded import decoded, encoded
from tinygpu.tune.engine import Evolution, Walks
from tinygpu.tune.moves import Space
from tinygpu.tune.page import page
from tinygpu.tune.state import read_back
from tinygpu.tune.store import COLUMNS, Beside, Place, Store
from tinygpu.tune.trial import Said

children = partial(Evolution, first=[])  # without a beam before them
PLACE = Place.of("op", "cpu", {"n": 4})


def test_the_page_of_the_dataset_has_every_column() -> None:
    table = re.findall(r"^\| `(\w+)` \| (\w+) \|", (ROOT / "docs" / "dataset.md").read_text(encoding="utf-8"), re.M)
    assert table == [(name, kind.split()[0]) for name, kind in COLUMNS.items()]


@pytest.mark.parametrize("device", ["", "cpu"])
def test_a_state_is_its_json(device: str) -> None:
    space, chance = Space(twice(), device), Random(2)
    for _ in range(30):
        state = space.walk(chance, 8)
        assert decoded(encoded(state)) == state
    assert decoded(json.dumps({"is": "Factor", "name": "i", "level": "grid"})) is None and decoded("null") is None


def test_a_time_beside_other_work_is_no_verdict(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    store.add(PLACE, "a", Said("proved", ratio=0.5, host=host(load=9.0)), Beside(incumbent="x"))
    store.add(PLACE, "b", Said("refused", "TG131", host=host(load=9.0)), Beside(incumbent="x"))
    store.add(PLACE, "c", Said("proved", ratio=0.6, host=host(load=2.9)), Beside(incumbent="x"))
    store.add(PLACE, "d", Said("late", host=host(load=3.1)), Beside(incumbent="x"))
    assert {m for m, *_ in store.known(PLACE, "x").values()} == {"b", "c"} and {
        m for m, *_ in store.known(PLACE, "y").values()
    } == {"b"}
    assert [row["loaded"] for row in store.rows(PLACE)] == [1, 0, 0, 1]


def test_where_a_trial_came_from_stays_when_it_is_tried_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    store.add(PLACE, "a", Said("proved", ratio=0.5), Beside(parent="p", action="merge i 1"))
    store.add(PLACE, "a", Said("proved", ratio=0.7), Beside(parent="q"))
    (row,) = store.rows()
    assert (row["parent"], row["action"], row["ratio"]) == ("p", "merge i 1", 0.7)


def test_what_is_merged_is_said_and_gives_way_to_a_better_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = Store(tmp_path / "a.db"), Store(tmp_path / "b.db")
    other.describe(PLACE, "the text of an op")
    for name, mine, theirs in (("a", 9.0, 1.0), ("b", 1.0, 9.0), ("c", 9.0, 9.0), ("d", None, 1.0)):
        if mine is not None:
            one.add(PLACE, name, Said("proved", ratio=1.0, host=host(load=mine)))
        other.add(PLACE, name, Said("proved", ratio=2.0, host=host(load=theirs)))
    words = ["tune", "--store", str(tmp_path / "a.db"), "--merge", str(tmp_path / "b.db")]
    assert main(words) == 0 and "2 trials came from" in capsys.readouterr().out
    assert {row["machine"]: row["ratio"] for row in one.rows()} == {"a": 2.0, "b": 1.0, "c": 1.0, "d": 2.0}
    assert main(words) == 0 and "0 trials came from" in capsys.readouterr().out
    assert main(["tune", "--store", str(tmp_path / "a.db"), "--export"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(line.keys() == {*COLUMNS, "text"} and line["text"] == "the text of an op" for line in lines) and len(lines) == 4
    assert main([*words[:-1], str(tmp_path / "none.db")]) == 2 and "there is no store" in capsys.readouterr().err
    assert not (tmp_path / "none.db").exists()


def test_a_store_of_before_and_a_database_of_others_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, line in (("old.db", "pragma user_version=1"), ("others.db", "create table people(name text)")):
        base = sqlite3.connect(tmp_path / name)
        base.execute(line)
        base.commit()
        assert main(["tune", "--store", str(tmp_path / name), "--export"]) == 2 and "TG913" in capsys.readouterr().err
        assert "trial" not in {table for (table,) in base.execute("select name from sqlite_master")}


def test_a_row_has_what_a_dataset_needs(tmp_path: Path) -> None:
    found = search(Store(tmp_path / "a.db"), children, AtOnce(until=40))
    found.features = lambda state: {"launches": float(len(state.nests))}
    found.run(60)
    rows = list(found.store.rows(found.place))
    by_key = {row["key"]: row for row in rows}
    for row in rows:
        state = read_back(row["machine"])
        assert state is not None and row["key"] == found.place.key(row["machine"]) and row["text"] == found.text
        again = decoded(json.dumps(row["state"]))
        assert again is not None and again.text("candidate") == row["machine"] and row["predicted"] == found.engine.cost(again)  # type: ignore[attr-defined]
        assert row["features"] == {"launches": 1.0} and row["incumbent"] == found.rival and row["cores"] == 2
    born = [row for row in rows if row["parent"]]
    assert born and all(by_key[row["parent"]]["at"] <= row["at"] and row["action"] for row in born)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Rows of a search with every verdict, children, times beside other work and a pause."""
    found = search(Store(tmp_path_factory.mktemp("drawn") / "a.db"), children, AtOnce(until=150))
    found.run(60)
    rows = list(found.store.rows())
    for number, row in enumerate(rows):
        row["at"] = number * 7.0 + (5000 if number > 90 else 0)
    for row, verdict in zip(rows[10:], ("refused", "refuted", "unknown", "wrong", "late", "crash"), strict=False):
        row |= {"verdict": verdict, "ratio": None, "why": 'TG131 "a < b" & more'}
    return rows


def test_a_page_needs_nothing_else_and_no_words_overlap(drawn: list[dict[str, Any]]) -> None:
    text = page(drawn, "twice at M = 4 & more")
    assert "<script" not in text and not re.findall(r"""(?:src|href)=|url\(|@import""", text)
    assert "prefers-color-scheme: dark" in text and re.search(r"Spearman's rank correlation of \d+ trials is -?\d", text)
    drawings = [ElementTree.fromstring(one) for one in re.findall(r"<svg viewBox=\"0 0 920.*?</svg>", text, re.S)]
    assert len(drawings) == 3
    for one in drawings:
        width, height = map(float, one.attrib["viewBox"].split()[2:])
        boxes = [_box(mark) for mark in one if mark.tag.endswith("text")]
        assert all(left >= 0 and right <= width and top >= 0 and bottom <= height for left, right, top, bottom in boxes)
        for (l1, r1, t1, b1), (l2, r2, t2, b2) in combinations(boxes, 2):
            assert r1 <= l2 or r2 <= l1 or b1 <= t2 or b2 <= t1
        dots = [(float(m.attrib["cx"]), float(m.attrib["cy"])) for m in one if m.tag.endswith("circle")]
        assert dots and all(0 <= x <= width and 0 <= y <= height for x, y in dots)


def _box(mark: ElementTree.Element) -> tuple[float, float, float, float]:
    x, y, wide = float(mark.attrib["x"]), float(mark.attrib["y"]), CHARACTER * len(mark.text or "")
    left = x - {"start": 0, "middle": wide / 2, "end": wide}[mark.attrib["text-anchor"]]
    return left, left + wide, y - 10, y + 3


def test_a_page_of_little_is_a_page(drawn: list[dict[str, Any]]) -> None:
    assert "Fewer than three" in page(drawn[10:12], "two") and "<svg" in page(drawn[:1], "one")
    loaded = [row | {"loaded": 1} for row in drawn[:5]]
    assert "timed beside other work" in page(loaded, "loaded")


def test_a_report_is_of_what_the_store_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = search(Store(tmp_path / "a.db"), Walks, AtOnce(until=5))
    found.run(60)
    (tmp_path / "twice.tgpu").write_text(found.text)
    words = ["tune", str(tmp_path / "twice.tgpu"), "M=64", "N=32", "--store", str(tmp_path / "a.db"), "--report"]
    assert main([*words, str(tmp_path / "out.html")]) == 0 and "5 trials of twice" in capsys.readouterr().out
    assert "twice at M = 64, N = 32" in (tmp_path / "out.html").read_text(encoding="utf-8")
    assert main([*words, str(tmp_path / "out.html"), "M=65"]) == 2 and "TG913" in capsys.readouterr().err
    assert main([*words, str(tmp_path / "out.html" / "further.html")]) == 2 and "TG904" in capsys.readouterr().err
