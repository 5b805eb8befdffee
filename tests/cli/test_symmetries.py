"""``entnet symmetries``"""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from entnet import write_babi
from entnet.cli import app
from symmetries.depots import DEPOTS, depot_stories


def test_groups_as_json_with_their_evidence(tmp_path: Path) -> None:
    write_babi(tmp_path / "depots.txt", depot_stories(300))
    done = CliRunner().invoke(app, ["symmetries", str(tmp_path / "depots.txt"), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert DEPOTS in found["groups"]
    assert found["joint"] == []
    assert len(found["evidence"]["groups"]) == len(found["groups"])


def test_groups_as_a_table(tmp_path: Path) -> None:
    write_babi(tmp_path / "depots.txt", depot_stories(300))
    done = CliRunner().invoke(app, ["symmetries", str(tmp_path / "depots.txt")])
    assert "barrel, crate, envelope, sack" in done.stdout
