"""``entnet generate grid``"""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from entnet.cli.generate_grid import register
from entnet.data.gridworld import GridWorld, generate
from entnet.data.reading import read_stories
from entnet.errors import EntNetError

runner = CliRunner()


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    register(made)
    made.callback()(lambda: None)
    return made


@pytest.mark.parametrize("name", ["grid.txt", "grid.jsonl"])
def test_files_hold_the_generated_stories(app: typer.Typer, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    given = ["grid", "--stories", "7", "--length", "9", "--seed", "3", "-o", str(path)]
    outcome = runner.invoke(app, given, catch_exceptions=False)
    assert outcome.exit_code == 0
    assert "7 stories, 14 questions" in outcome.stdout
    assert read_stories(path) == generate(GridWorld(), 7, 9, seed=3)


def test_without_a_file_they_are_printed(app: typer.Typer) -> None:
    outcome = runner.invoke(
        app, ["grid", "--stories", "2", "--length", "5", "--ask-from", "4"], catch_exceptions=False
    )
    assert outcome.stdout.count("where is agent2?") == 4
    assert outcome.stdout.startswith("1 agent1 is at (")


def test_impossible_wishes_are_refused(app: typer.Typer) -> None:
    with pytest.raises(EntNetError, match="questions within the story"):
        runner.invoke(app, ["grid", "--length", "5", "--ask-from", "6"], catch_exceptions=False)
