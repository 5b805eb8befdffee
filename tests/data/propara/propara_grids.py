"""Paragraphs of our own, small enough to check by hand."""

from __future__ import annotations

import json
from pathlib import Path

from entnet.data.propara.process import Process

TEA = Process(
    "1",
    (
        "The kettle heats the water.",
        "The water is poured into the cup.",
        "The leaves turn the water into tea.",
        "Someone carries the tea to the garden.",
    ),
    ("water", "tea leaves; leaves", "tea"),
    (
        ("kettle", "kettle", "cup", "-", "-"),
        ("?", "?", "?", "?", "?"),
        ("-", "-", "-", "cup", "garden"),
    ),
)
ICE = Process(
    "2",
    ("Water freezes in the pond.", "The ice cracks."),
    ("water", "ice"),
    (("pond", "-", "-"), ("-", "pond", "pond")),
)


def write_grids(path: Path, processes: list[Process]) -> Path:
    lines = [
        {
            "para_id": one.name,
            "sentence_texts": one.sentences,
            "participants": one.participants,
            "states": one.states,
        }
        for one in processes
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
