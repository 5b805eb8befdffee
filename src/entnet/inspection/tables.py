"""A trace as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from entnet.binding import Bound, Unbound
from entnet.inspection.trace import Asked, SlotName, Trace
from entnet.tracker import NearWord

_SHADES = " ░▒▓█"


def trace_tables(trace: Trace) -> RenderableType:
    """Everything: gates by sentence and slot, what the slots hold at the end, the questions."""
    parts: list[RenderableType] = [gate_table(trace)]
    last = len(trace.steps)
    parts.append(slot_table(trace.slots, trace.words(last), f"What the slots hold after {last}"))
    parts.extend(question_panel(asked, trace.slots) for asked in trace.questions)
    return Group(*(item for part in parts for item in (part, Text())))


def gate_table(trace: Trace) -> Table:
    """Sentences down, slots across: a darker block is a gate open wider."""
    table = Table(
        title="Gates", title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0)
    )
    table.add_column("", justify="right", style="dim")
    table.add_column("sentence", overflow="fold", max_width=48)
    table.add_column("slots", no_wrap=True)
    table.add_column("moved most", overflow="fold")
    for number, step in enumerate(trace.steps, start=1):
        most = sorted(range(len(step.movement)), key=lambda slot: -step.movement[slot])[:3]
        moved = ", ".join(f"{_name(trace.slots[slot])} {step.movement[slot]:.2f}" for slot in most)
        told = _marked(step.sentence, step.unknown)
        for note in naming(step.bound, step.unbound):
            told.append(f"\n{note}", style="dim")
        table.add_row(str(number), told, _blocks(step.gates), moved)
    return table


def naming(bound: Sequence[Bound], unbound: Sequence[Unbound]) -> list[str]:
    """What became of new words, a line each: ``alice: a person``."""
    told = [f"{one.word}: a {one.kind}" for one in bound]
    return told + [f"{one.word}: {one.reason}" for one in unbound]


def slot_table(slots: Sequence[SlotName], words: Sequence[Sequence[NearWord]], title: str) -> Table:
    """One row per slot: what it stands for, and the nearest words with their similarity."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("slot", justify="right", style="dim")
    table.add_column("key")
    table.add_column("nearest words")
    for name, near in zip(slots, words, strict=True):
        table.add_row(str(name.slot + 1), name.label, _near(near))
    return table


def question_panel(asked: Asked, slots: Sequence[SlotName]) -> Table:
    """A question: the answer, what else it could have been, and where attention went."""
    answer = asked.answer
    mark = {True: " ✓", False: f" ✗ (the story says {asked.expected})", None: ""}[asked.right]
    table = Table(
        title=f"{answer.question}  (after {asked.after})", title_justify="left", box=None,
        show_header=False, pad_edge=False,
    )  # fmt: skip
    table.add_column(style="dim")
    table.add_column()
    table.add_row("answer", Text(f"{answer.answer}  {answer.probability:.1%}{mark}", style="bold"))
    if answer.why_unknown:
        table.add_row("why", answer.why_unknown)
    others = ", ".join(f"{guess.word} {guess.probability:.1%}" for guess in answer.alternatives)
    table.add_row("or", others)
    most = sorted(range(len(answer.attention)), key=lambda slot: -answer.attention[slot])[:3]
    if most:
        shares = (f"{_name(slots[slot])} {answer.attention[slot]:.0%}" for slot in most)
        table.add_row("attention", ", ".join(shares))
    if answer.unknown:
        table.add_row("unknown", ", ".join(answer.unknown))
    return table


def _name(slot: SlotName) -> str:
    return f"{slot.slot + 1} {slot.label}"


def _blocks(values: Sequence[float]) -> Text:
    text = Text()
    for value in values:
        text.append(_SHADES[min(int(value * len(_SHADES)), len(_SHADES) - 1)] * 2, style="cyan")
    return text


def _near(words: Sequence[NearWord]) -> Text:
    def pieces() -> Iterator[tuple[str, str]]:
        for place, near in enumerate(words):
            yield near.word, "bold" if place == 0 else ""
            yield f" {near.similarity:.2f}   ", "dim"

    return Text.assemble(*pieces())


def _marked(sentence: str, unknown: Sequence[str]) -> Text:
    """The sentence, with words never seen in training underlined."""
    text = Text(sentence)
    for word in unknown:
        text.highlight_words([word], "underline red", case_sensitive=False)
    return text
