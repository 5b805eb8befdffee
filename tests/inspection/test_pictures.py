"""Tables, pictures and the exported page show what the trace holds."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from entnet import EntNet, EntNetError, Question, Story
from entnet.inspection.page import html_page, save_page
from entnet.inspection.plots import plot_trace, save_plot
from entnet.inspection.tables import trace_tables
from entnet.inspection.trace import Trace, trace_story

STORY = Story(
    ("Mary went to the garden.", "John flew to the office."),
    (Question(1, "Where is Mary?", "garden"), Question(2, "Where is John?", "kitchen")),
)


@pytest.fixture(scope="module")
def trace(walking_networks: dict[str, Path]) -> Trace:
    model = EntNet.from_pretrained(walking_networks["walks-tied"])
    return trace_story(model, STORY, "walks-tied")


def test_tables_tell_gates_words_and_answers(trace: Trace) -> None:
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(trace_tables(trace))
    text = console.export_text()
    for shown in ("Mary went to the garden.", "john", "Where is Mary?", "garden", "✓", "attention"):
        assert shown in text
    assert "✗ (the story says kitchen)" in text


@pytest.mark.parametrize("shown", ["gates", "movement"])
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_pictures_are_written(trace: Trace, tmp_path: Path, suffix: str, shown: str) -> None:
    path = tmp_path / "new" / f"story.{suffix}"
    save_plot(trace, path, shown)  # type: ignore[arg-type]
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)


def test_a_picture_says_what_the_trace_holds(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "story.svg"
    save_plot(trace, path)
    text = path.read_text()
    for shown in ("Mary went to the garden.", "sandra", "garden", "attention", "Where is John?"):
        assert shown in text
    first = path.read_bytes()
    save_plot(trace, path)
    assert path.read_bytes() == first


def test_colours_are_the_gates(trace: Trace) -> None:
    heat = plot_trace(trace).axes[0].collections[0].get_array()
    assert heat is not None
    gates = [[step.gates[slot] for step in trace.steps] for slot in range(3)]
    assert heat.tolist() == gates


def test_pictures_of_nothing_and_of_unknown_kinds_are_refused(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(EntNetError, match=r"\.png, \.svg"):
        save_plot(trace, tmp_path / "story.bmp")
    empty = Trace("x", trace.slots, trace.start, (), ())
    with pytest.raises(EntNetError, match="nothing to draw"):
        plot_trace(empty)


def test_the_page_holds_everything_and_asks_for_nothing(trace: Trace, tmp_path: Path) -> None:
    save_page(trace, tmp_path / "story.html")
    text = (tmp_path / "story.html").read_text()
    assert not re.search(r"""(src|href)=|@import|url\(|^import |^export """, text, re.MULTILINE)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    data = re.search(r'id="trace">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert json.loads(data.group(1)) == trace.to_dict()


def test_a_story_cannot_break_out_of_the_page(walking_networks: dict[str, Path]) -> None:
    model = EntNet.from_pretrained(walking_networks["walks-tied"])
    evil = Story(("</script><script>alert(1)</script> went to the garden.",), ())
    text = html_page(trace_story(model, evil, "<b>x</b>"))
    assert "</script><script>alert" not in text
    assert "<b>x</b>" not in text
