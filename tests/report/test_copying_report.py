"""What the report says of memory machines that copy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from entnet.report import copying


def line(variant: str, seed: int, error: float) -> dict[str, object]:
    cells = {"10": {"valid_error": 0.0, "test_error": 0.0}, "20": {"test_error": error}}
    scores = {"valid_error": 0.0, "test_error": error, "cells": cells}
    about = {"schema": 2, "table": "copy", "task": 10, "data": "copying"}
    return {**about, "variant": variant, "seed": seed, "best": scores, "last": scores}


def test_errors_by_machine_and_length(tmp_path: Path) -> None:
    lines = [line("ntm", 1, 2.0), line("ntm", 2, 4.0), line("dnc", 1, 8.0), line("ntm+x=1", 1, 50)]
    (tmp_path / "copy.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    found = copying.figures(tmp_path)["copy"]
    assert found["ntm"]["20"] == {"mean": 3.0, "sd": pytest.approx(1.4142), "seeds": 2}
    (page,) = copying.pages(tmp_path)
    assert "| ntm | 0.00 ± 0.00 | 3.00 ± 1.41 | 2 |" in page.body
    assert "| dnc | 0.00 | 8.00 | 1 |" in page.body


def test_without_runs_there_is_no_page(tmp_path: Path) -> None:
    assert copying.figures(tmp_path) == {}
    assert copying.pages(tmp_path) == []
