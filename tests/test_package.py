"""The package as a whole: its public names, its layers, and what its documents promise."""

from __future__ import annotations

import configparser
import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

import entnet
from entnet import EntNetConfig, TrainConfig

ROOT = Path(__file__).parent.parent

PUBLIC = {
    "ConfigError", "Corpus", "DataError", "EntNet", "EntNetConfig", "EntNetError", "ModelFileError",
    "Question", "RaggedBatch", "Story", "StoryModel", "Symmetries", "Tracker", "TrainConfig",
    "Vocab", "find_symmetries", "list_pretrained", "read_babi", "read_jsonl", "read_stories",
    "tokenise", "write_babi", "write_jsonl",
}  # fmt: skip


def test_public_names_are_pinned() -> None:
    assert set(entnet.__all__) == PUBLIC
    for name in PUBLIC:
        assert hasattr(entnet, name)


def test_imports_point_one_way() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_importing_the_package_needs_no_extra() -> None:
    """Plots, service, Ray and TensorBoard are optional: nothing may import them unasked."""
    code = (
        "import sys, entnet, entnet.cli; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    optional = {"matplotlib", "fastapi", "uvicorn", "ray", "tensorboard", "prompt_toolkit"}
    optional |= {"huggingface_hub", "onnx"}
    assert not optional & set(loaded.stdout.split())


def test_every_option_of_the_paper_is_documented_with_its_default() -> None:
    """docs/options.md names every row of the text-against-code table, and its defaults are true."""
    text = (ROOT / "docs" / "options.md").read_text()
    defaults = {
        f"{owner.__name__}.{field.name}": field.default
        for owner in (EntNetConfig, TrainConfig)
        for field in dataclasses.fields(owner)
    }
    rows = re.findall(r"\| `(EntNetConfig|TrainConfig)\.(\w+)` \| `([^`]*)` \|", text)
    assert len(rows) >= 20
    for owner, name, stated in rows:
        assert str(defaults[f"{owner}.{name}"]) == stated, f"{owner}.{name}"


def test_documents_speak_of_files_that_exist() -> None:
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_version_is_stated_once_and_the_same() -> None:
    import tomllib

    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_part_of_the_package_has_its_layer() -> None:
    """A part that no layer names could import anything, and `lint-imports` would not look."""
    rules = configparser.ConfigParser()
    rules.read(ROOT / ".importlinter")
    layers = rules["importlinter:contract:layers"]["layers"]
    named = set(re.findall(r"entnet\.(\w+)", layers))
    parts = {path.stem for path in (ROOT / "src/entnet").glob("[a-z]*.py")}
    parts |= {path.parent.name for path in (ROOT / "src/entnet").glob("[a-z]*/__init__.py")}
    assert named == parts
