"""Table 3 of the paper in the report: what slots hold, for its story and counted over many.

``entnet inspect MODEL --places FILE --results DIR`` writes what is rendered here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from entnet.files import write_atomically
from entnet.report.markdown import markdown_table

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
    """Keep the counts of a network's slots, and for the paper's story each one's true place and words.

    Those of other networks stay.
    """
    path = places_path(results)
    kept = {**_read(results), model: {"score": score, "slots": slots}}
    write_atomically(path, json.dumps(kept, indent=1).encode() + b"\n")
    return path


def figures(results: Path) -> dict[str, Any]:
    """For programs: ``{"table3-places": {MODEL: {"share": …, "people": …, …}, …}}``."""
    kept = _read(results)
    return {"table3-places": {model: of["score"] for model, of in kept.items()}} if kept else {}


def render_markdown(results: Path) -> str:
    """The paper's story with our slots beside its true places, and the counts."""
    kept = _read(results)
    if not kept:
        return ""
    names = [f"`{model}`" for model in kept]
    places = {name: place for of in kept.values() for name, (place, _) in of["slots"].items()}
    story = [
        [name, place, *(", ".join(of["slots"].get(name, ("", ""))[1]) for of in kept.values())]
        for name, place in places.items()
    ]
    counts = [
        [label, *(_right(of["score"], kind) for of in kept.values())] for kind, label in _COUNTED
    ]
    together = ["people and things", *(f"**{of['score']['share']:.1%}**" for of in kept.values())]
    stories = min(of["score"]["stories"] for of in kept.values())
    return "\n".join(
        [
            "The words nearest to each slot after the story of Table 3. How these networks were trained: "
            "[recipes](../recipes.md#looking-into-slots).\n",
            markdown_table(["slot", "true place", *names], story, left=len(names) + 2),
            f"The same, counted over {stories} stories of the official test file of task 2: slots whose "
            "first word, of all words, is the true place. The paper shows one story, with true places.\n",
            markdown_table(["whose slot", *names], [*counts, together]),
            "A slot sees the sentences and its own state, never another slot. Of a thing that was taken "
            "up and not yet carried anywhere, no sentence says where it is.\n",
        ]
    )


def summary_rows(results: Path) -> list[list[str]]:
    """For the summary: experiment, no mean, our share, the paper's."""
    return [
        [
            f"[Slots of `{model}` that name the true place, {of['score']['stories']} stories](table3.md)",
            "–",
            f"{of['score']['share']:.1%}",
            "one story shown",
        ]
        for model, of in _read(results).items()
    ]


def _right(score: dict[str, float], kind: str) -> str:
    right, known = score[f"{kind}_right"], score[kind]
    return f"{right} of {known} ({right / max(known, 1):.1%})"


def _read(results: Path) -> dict[str, Any]:
    path = places_path(results)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
