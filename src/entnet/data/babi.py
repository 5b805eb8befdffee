"""The official bAbI file format: read, write, split.

    1 Mary moved to the bathroom.
    2 John went to the hallway.
    3 Where is Mary?<tab>bathroom<tab>1

Lines are numbered from 1; a line numbered 1 starts a new story. A line with tabs is a question: its text,
its answer and, separated by blanks, the line numbers of its supporting facts.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from pathlib import Path

from entnet.data.story import Question, Story
from entnet.errors import DataError
from entnet.files import write_atomically
from entnet.text import tokenise

TASK_NAMES = {
    1: "single-supporting-fact",
    2: "two-supporting-facts",
    3: "three-supporting-facts",
    4: "two-arg-relations",
    5: "three-arg-relations",
    6: "yes-no-questions",
    7: "counting",
    8: "lists-sets",
    9: "simple-negation",
    10: "indefinite-knowledge",
    11: "basic-coreference",
    12: "conjunction",
    13: "compound-coreference",
    14: "time-reasoning",
    15: "basic-deduction",
    16: "basic-induction",
    17: "positional-reasoning",
    18: "size-reasoning",
    19: "path-finding",
    20: "agents-motivations",
}

TASKS_WITH_TIGHT_TABS = frozenset({4, 15, 16, 17, 18, 19, 20})
"""Tasks whose official files have no blank between a question and its tab."""


def file_name(task: int, split: str) -> str:
    """The official name of a task's file, e.g. ``qa1_single-supporting-fact_train.txt``."""
    return f"qa{task}_{TASK_NAMES[task]}_{split}.txt"


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, or an error that says what is wrong with it."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(path, None, "no such file") from error
    except IsADirectoryError as error:
        raise DataError(path, None, "is a directory, not a file") from error
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {error.strerror}") from error
    if not raw.strip():
        raise DataError(path, None, "the file is empty")
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(path, None, "UTF-16 text; save it as UTF-8")
    if b"\0" in raw:
        line = raw[: raw.index(b"\0")].count(b"\n") + 1
        raise DataError(path, line, "a zero byte: this is a binary file, not text")
    try:
        return raw.decode("utf-8-sig")  # some editors begin UTF-8 with a mark
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(path, line, f"not UTF-8 text (byte 0x{raw[error.start]:02x})") from error


def read_babi(path: Path | str, require_questions: bool = True) -> list[Story]:
    """Read stories in the official format."""
    path = Path(path)
    text = read_text(path).replace("\r\n", "\n")
    reader = _Reader(path)
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            reader.line(number, line, unterminated=number == len(lines))
    stories = reader.finish()
    if require_questions and not any(story.questions for story in stories):
        raise DataError(
            path, None, "no question in the file; a question line has a tab and an answer"
        )
    return stories


class _Reader:
    """Takes lines one by one and puts stories together."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stories: list[Story] = []
        self.sentences: list[str] = []
        self.questions: list[Question] = []
        self.sentence_of_line: dict[int, int] = {}
        self.numbered = 0
        self.supports_seen = False

    def finish(self) -> list[Story]:
        if self.numbered:
            self.stories.append(Story(tuple(self.sentences), tuple(self.questions)))
        return self.stories

    def line(self, number: int, line: str, unterminated: bool) -> None:
        label, _, rest = line.strip(" ").partition(" ")
        if not (label.isascii() and label.isdigit()):
            shown = label[:20]
            raise DataError(
                self.path,
                number,
                f"a line starts with its number and a blank, this one with {shown!r}; lines are like "
                "'1 Mary got the milk.' and, with tabs, '2 Where is the milk?<tab>garden<tab>1'",
            )
        self._count(number, int(label))
        if "\t" in rest:
            self._question(number, rest, unterminated)
        else:
            self._sentence(number, rest.strip(), unterminated)

    def _count(self, number: int, label: int) -> None:
        if label == 1:
            self.finish()
            self.sentences, self.questions, self.sentence_of_line = [], [], {}
        elif label != self.numbered + 1:
            expected = "1" if self.numbered == 0 else f"{self.numbered + 1} (or 1, for a new story)"
            raise DataError(self.path, number, f"numbered {label}, but should be {expected}")
        self.numbered = label

    def _sentence(self, number: int, text: str, unterminated: bool) -> None:
        if not tokenise(text):
            raise DataError(self.path, number, "a sentence without words")
        if text.endswith("?"):
            raise DataError(
                self.path,
                number,
                "a question without an answer; a tab and the answer must follow it",
            )
        if unterminated and not text.endswith((".", "!")):
            raise DataError(self.path, number, f"the file ends inside a sentence: {text!r}")
        self.sentence_of_line[self.numbered] = len(self.sentences)
        self.sentences.append(text)

    def _question(self, number: int, rest: str, unterminated: bool) -> None:
        text, *fields = (part.strip() for part in rest.split("\t"))
        if not tokenise(text):
            raise DataError(self.path, number, "an empty question before the tab")
        if not self.sentences:
            raise DataError(self.path, number, "a question before any sentence of its story")
        if unterminated and (len(fields) < 2 or not fields[1]) and self.supports_seen:
            raise DataError(self.path, number, "the file ends inside a question line")
        if not fields[0]:
            raise DataError(self.path, number, "no answer after the tab")
        if len(fields) > 2:
            raise DataError(
                self.path, number, "more than two tabs; a question is text, tab, answer, tab, facts"
            )
        facts = fields[1].split() if len(fields) > 1 else []
        self.supports_seen |= bool(facts)
        supports = tuple(self._support(number, fact) for fact in facts)
        self.questions.append(Question(len(self.sentences), text, fields[0], supports))

    def _support(self, number: int, fact: str) -> int:
        sentence = (
            self.sentence_of_line.get(int(fact)) if fact.isascii() and fact.isdigit() else None
        )
        if sentence is None:
            raise DataError(
                self.path,
                number,
                f"supporting fact {fact!r} is no sentence's line number in this story",
            )
        return sentence


def format_babi(stories: Sequence[Story], blank_before_tab: bool = True) -> str:
    """Stories as text in the official format."""
    lines: list[str] = []
    for story in stories:
        line_of_sentence: list[int] = []
        number = asked = 0
        for position in range(len(story.sentences) + 1):
            while asked < len(story.questions) and story.questions[asked].after <= position:
                question = story.questions[asked]
                number += 1
                asked += 1
                facts = " ".join(str(line_of_sentence[fact]) for fact in question.supports)
                blank = " " if blank_before_tab else ""
                lines.append(f"{number} {question.text}{blank}\t{question.answer}\t{facts}\n")
            if position < len(story.sentences):
                number += 1
                line_of_sentence.append(number)
                lines.append(f"{number} {story.sentences[position]}\n")
    return "".join(lines)


def write_babi(path: Path | str, stories: Sequence[Story], blank_before_tab: bool = True) -> None:
    """Write stories in the official format."""
    write_atomically(Path(path), format_babi(stories, blank_before_tab).encode())


def split_validation(
    stories: Sequence[Story], share: float = 0.1
) -> tuple[list[Story], list[Story]]:
    """Cut off the last stories that hold ``share`` of the questions: (training, validation)."""
    total = sum(len(story.questions) for story in stories)
    wanted = round(total * share)
    cut, held = len(stories), 0
    while cut > 0 and held < wanted:
        cut -= 1
        held += len(stories[cut].questions)
    return list(stories[:cut]), list(stories[cut:])
