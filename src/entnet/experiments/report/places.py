"""Table 3 of the paper in the report: what slots hold, for its story and counted over many.

``entnet inspect MODEL --places FILE --results DIR`` writes what is rendered here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from entnet.experiments.report.markdown import markdown_table
from entnet.files import write_atomically

_COUNTED = (
    ("people", "people"),
    ("things", "things"),
    ("carried", "of these, things that somebody has carried from one place to another"),
)


def places_path(results: Path) -> Path:
    return results / "places.json"


def write_places(
    results: Path, model: str, score: dict[str, float], slots: dict[str, tuple[str, list[str]]]
) -> Path:
    """Keep the counts of a network's slots, and for the paper's story each one's true place and words."""
    path = places_path(results)
    kept = {"model": model, "score": score, "slots": slots}
    write_atomically(path, json.dumps(kept, indent=1).encode() + b"\n")
    return path


def figures(results: Path) -> dict[str, Any]:
    """For programs: ``{"table3-places": {"share": …, "people": …, …}}``."""
    kept = _read(results)
    return {"table3-places": {"model": kept["model"], **kept["score"]}} if kept else {}


def render_markdown(results: Path) -> str:
    """The paper's story with our slots beside its, and the counts."""
    kept = _read(results)
    if not kept:
        return ""
    score, slots = kept["score"], kept["slots"]
    story = [[name, place, ", ".join(words)] for name, (place, words) in slots.items()]
    counts = [
        [label, str(score[kind]), str(score[f"{kind}_right"]), _share(score, kind)]
        for kind, label in _COUNTED
    ]
    return "\n".join(
        [
            f"The words nearest to each slot of `{kept['model']}` after the story of Table 3.\n",
            markdown_table(["slot", "true place", "nearest words"], story, left=3),
            f"The same counted over {score['stories']} stories of the official test file of task 2: "
            "slots whose first word, of all words, is the true place "
            f"({score['share']:.1%} of all). The paper shows one, with true places.\n",
            markdown_table(["whose slot", "slots", "right", "share"], counts),
            "A slot sees the sentences and its own state, never another slot. Of a thing that was taken "
            "up and not yet carried anywhere, no sentence says where it is.\n",
        ]
    )


def summary_rows(results: Path) -> list[list[str]]:
    """For the summary: table, what it is, our share, the paper's."""
    kept = _read(results)
    if not kept:
        return []
    score = kept["score"]
    what = (
        f"slots that name the true place, people and things, {score['stories']} stories of task 2"
    )
    return [["`table3`", what, f"{score['share']:.1%}", "one story shown"]]


def _share(score: dict[str, float], kind: str) -> str:
    return f"{score[f'{kind}_right'] / max(score[kind], 1):.1%}"


def _read(results: Path) -> dict[str, Any]:
    path = places_path(results)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
