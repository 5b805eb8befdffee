"""docs/new-model.md: every block of the page does what it says, in its order."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from entnet import write_babi
from entnet.data.babi import file_name
from small_tables import moving_stories

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "new-model.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"```(\w+)\n(?!--8<--)(.*?)```", PAGE, re.DOTALL)
"""Without the example that the page includes, and what it prints: tests/test_documents.py has these."""


def run(command: list[str], folder: Path, **environment: str) -> str:
    # One entnet and one pytest: those of this Python.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_page_works_from_top_to_bottom(tmp_path: Path) -> None:
    texts = [text for _, text in BLOCKS]
    model, commands, asking, testing, preset, sweep, project, blind = texts[:8]
    for text in (model, blind):
        name = re.match(r"# (\w+\.py)\n", text)
        assert name is not None
        (tmp_path / name[1]).write_text(text, encoding="utf-8")

    told = run(["bash", "-e", "-c", commands], tmp_path)
    assert "not in compiled code: memory has its own gate" in " ".join(told.split())
    assert "runs/sharp" in told

    said = run([sys.executable, "-c", asking], tmp_path)
    assert re.search(r"^\w+ β = \d", said), said

    # Both networks of the page in one run.
    both = os.pathsep.join(str(tmp_path / name) for name in ("mine.py", "blind.py"))
    quick = "-k 'gradients or see_each or tracker or shapes or killed'"
    tested = run(
        ["bash", "-e", "-c", f"{testing.replace('mine.py', both).strip()} -vv {quick}"], ROOT
    )
    for kind in ("sharp", "blind"):
        assert f"test_gradients_are_right[{kind}] PASSED" in tested

    # The official files are more than a test needs.
    official = tmp_path / "data" / "babi" / "en"
    for part in ("train", "test"):
        write_babi(official / file_name(1, part), moving_stories(30))
    (tmp_path / "mine.toml").write_text(
        preset.replace("epochs = 60", "epochs = 2").replace("seeds = 2", "seeds = 1"),
        encoding="utf-8",
    )
    swept = run(["bash", "-e", "-c", sweep], tmp_path, ENTNET_DATA=str(tmp_path / "data"))
    assert "2 of 2 runs done" in swept
    lines = (tmp_path / "results" / "mine.jsonl").read_text().splitlines()
    assert {json.loads(line)["kind"] for line in lines} == {"entnet", "sharp"}

    # What installing that package would leave behind.
    points = tomllib.loads(project)["project"]["entry-points"]["entnet.models"]
    installed = tmp_path / "sharp_entnet-0.1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: sharp-entnet\nVersion: 0.1\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (installed / "entry_points.txt").write_text("\n".join(["[entnet.models]", *lines]))
    python_path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    listed = run(["entnet", "settings", "--model", "sharp"], tmp_path, PYTHONPATH=python_path)
    assert "sharpness" in listed


def test_the_files_it_sends_readers_to_are_there() -> None:
    for path in re.findall(r"`((?:src|tests|ops|models|data)/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists() or (ROOT / "src/entnet" / path).exists(), path
    reference = (ROOT / "src/entnet/ops/reference.py").read_text(encoding="utf-8")
    assert re.search(r'def candidate\(.*?"""\(3\)', reference, re.DOTALL)
