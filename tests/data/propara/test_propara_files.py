"""Reading the official files, and refusing what breaks their rules."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from propara_grids import ICE, TEA, write_grids

from entnet import EntNetError
from entnet.data.propara.files import read_actions, read_grids, read_propara, write_predictions
from entnet.data.propara.process import action


def test_grids_and_tables_say_the_same(official_data: Path) -> None:
    for part, count in (("train", 391), ("dev", 43), ("test", 54)):
        grids = read_grids(official_data / "propara" / f"grids.v1.{part}.json")
        tables = {one.name: one for one in read_propara(official_data / "propara" / part)}
        assert len(grids) == len(tables) == count
        for grid in grids:
            table = tables[grid.name]
            assert table.sentences == grid.sentences
            if len(set(grid.participants)) < len(grid.participants):
                continue  # four paragraphs of training have a participant twice
            assert dict(zip(table.participants, table.states, strict=True)) == dict(
                zip(grid.participants, grid.states, strict=True)
            )
            numbers = range(len(table.participants))
            derived = dataclasses.replace(table, said=())
            assert [table.actions(n) for n in numbers] == [derived.actions(n) for n in numbers]


def test_actions_follow_from_states() -> None:
    assert [action("-", "?"), action("?", "-"), action("?", "sea"), action("sea", "sea")] == [
        "CREATE",
        "DESTROY",
        "MOVE",
        "NONE",
    ]


def test_predictions_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_predictions(tmp_path / "answers.tsv", [TEA, ICE])
    (tmp_path / "sentences.tsv").write_text(
        "".join(
            f"{one.name}\t{number}\t{text}\n"
            for one in (TEA, ICE)
            for number, text in enumerate(one.sentences, start=1)
        )
    )
    read = read_propara(tmp_path)
    assert [dataclasses.replace(one, said=()) for one in read] == [TEA, ICE]
    assert read == read_propara(tmp_path / "answers.tsv")


def test_grids_are_read(tmp_path: Path) -> None:
    assert read_propara(write_grids(tmp_path / "grids.json", [TEA, ICE])) == [TEA, ICE]


def test_a_paragraph_is_a_story() -> None:
    story = ICE.story()
    assert story.sentences == ICE.sentences
    assert [(q.after, q.text, q.answer) for q in story.questions] == [
        (1, "Where is water?", "-"),
        (1, "Where is ice?", "pond"),
        (2, "Where is water?", "-"),
        (2, "Where is ice?", "pond"),
    ]


GOOD = "1\t1\twater\tMOVE\tsea\tcloud\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1\t2\twater\tVIBRATE\tsea\tsea", "line 2: no action 'VIBRATE'"),
        ("1\t2\twater\tNONE\tsea\tcloud", "line 2: NONE, but from 'sea' to 'cloud'"),
        ("1\t2\twater\tCREATE\tsea\tcloud", "line 2: CREATE begins at -"),
        ("1\t2\twater\tCREATE\t-\t-", "line 2: CREATE begins at -"),
        ("1\t2\twater\tDESTROY\tsea\t?", "line 2: DESTROY begins at a place and ends at -"),
        ("1\t2\twater\tDESTROY\t-\t-", "line 2: DESTROY begins at a place"),
        ("1\t2\twater\tMOVE\t-\tsea", "line 2: MOVE begins at a place"),
        ("1\t2\twater\tMOVE", "line 2: process, sentence, participant.*not 4 fields"),
        ("1\t2\twater\tNONE\tsea\tsea\tmore", "line 2: process.*not 7 fields"),
        ("1\ttwo\twater\tNONE\tsea\tsea", "line 2: the sentence must be a number"),
        ("1\t3\twater\tNONE\tsea\tsea", "line 2: process 1: 'water' has no sentence 2 before"),
        ("1\t1\tice\tNONE\t-\t-\n1\t2\tice\tNONE\t-\t-", "'water' has no line for sentence 2"),
    ],
)
def test_broken_tables_are_refused(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "predictions.tsv"
    path.write_text(f"{GOOD}{line}\n")
    with pytest.raises(EntNetError, match=reason):
        read_actions(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"states": [["?", "?", "?"]]}, "a row for each participant"),
        ({"states": [["?", "?"], ["?", "?", "?"]]}, "'water' must have 3 states"),
        ({"states": [["?", "", "?"], ["?", "?", "?"]]}, "a state of 'water' is not a place"),
        ({"participants": "water"}, "participants must be a list of texts"),
        ({"sentence_texts": []}, "at least one sentence"),
    ],
)
def test_broken_grids_are_refused(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    path = write_grids(tmp_path / "grids.json", [TEA, ICE])
    good, bad = path.read_text().splitlines()
    path.write_text(f"{good}\n{json.dumps(json.loads(bad) | change)}\n")
    with pytest.raises(EntNetError, match=f"line 2: .*{reason}"):
        read_grids(path)


def test_other_refusals(tmp_path: Path) -> None:
    path = tmp_path / "grids.json"
    with pytest.raises(EntNetError, match="no such file"):
        read_propara(path)
    path.write_text("\n")
    with pytest.raises(EntNetError, match="the file is empty"):
        read_propara(path)
    path.write_text("{")
    with pytest.raises(EntNetError, match="line 1: not JSON"):
        read_propara(path)
    path.write_text("[]\n")
    with pytest.raises(EntNetError, match="a grid needs para_id"):
        read_propara(path)
    write_predictions(tmp_path / "answers.tsv", [ICE])
    (tmp_path / "sentences.tsv").write_text("2\t1\tWater freezes.\n")
    with pytest.raises(EntNetError, match="process 2 has 1 sentences, its states are of 2"):
        read_propara(tmp_path)
    (tmp_path / "sentences.tsv").write_text("2\t2\tWater freezes.\n")
    with pytest.raises(EntNetError, match=r"line 1: process 2: sentence 1 expected, not 2"):
        read_propara(tmp_path)
    (tmp_path / "sentences.tsv").write_text("2\t1\n")
    with pytest.raises(EntNetError, match="line 1: process, sentence and text"):
        read_propara(tmp_path)
