"""Stories as people write them: plain text, or lines copied out of a bAbI file.

Sentences end with a full stop, an exclamation mark or the end of a line. What ends with a question
mark is a question, asked where it stands; a tab and its answer may follow it, as in bAbI files. Line
numbers are dropped where every line has one; where they begin again, a new story begins.
"""

from __future__ import annotations

import re
from pathlib import Path

from entnet.data.babi import read_text
from entnet.data.story import Question, Story
from entnet.errors import DataError, EntNetError

# White space after the mark, and whatever closes a quotation or a bracket with it.
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+")
_QUESTION_WORDS = frozenset({"where", "who", "what", "why", "how", "is", "are", "does", "did"})
_NUMBERED = re.compile(r"^(\d+)\s+(?=\S)")


def split_sentences(text: str) -> list[str]:
    """Cut text into sentences and questions.

    >>> split_sentences("Mary got the milk. She left.\\nWhere is it?")
    ['Mary got the milk.', 'She left.', 'Where is it?']
    """
    pieces = (
        piece.strip() for line in text.splitlines() for piece in _SENTENCE_END.split(line.strip())
    )
    return [piece for piece in pieces if any(letter.isalnum() for letter in piece)]


def is_question(sentence: str) -> bool:
    return sentence.rstrip("\"'”’)] ").endswith("?")


def lacks_mark(sentence: str) -> bool:
    """Whether a sentence begins as questions do, without ending as one."""
    first = sentence.split(maxsplit=1)[:1]
    return not _QUESTION_WORDS.isdisjoint(map(str.lower, first)) and not is_question(sentence)


def parse_plain(text: str) -> list[Story]:
    """The stories of a text: one, unless line numbers begin again. Questions may lack an answer."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not (lines and all(_NUMBERED.match(line) for line in lines)):
        return _stories([lines])
    numbers = [_number(line.split(maxsplit=1)[0]) for line in lines]
    lines = [_NUMBERED.sub("", line) for line in lines]
    starts = [i for i, number in enumerate(numbers) if i == 0 or number <= numbers[i - 1]]
    return _stories([lines[a:b] for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)])


def _number(digits: str) -> int:
    if len(digits) > 9:
        raise EntNetError(f"a line number of {len(digits):,} digits; at most 9 are read")
    return int(digits)


def read_plain(path: Path | str) -> list[Story]:
    """``parse_plain`` of a file of UTF-8 text with a sentence in it."""
    stories = parse_plain(read_text(Path(path)))
    if not stories:
        raise DataError(path, None, "holds no sentence; write one per line")
    return stories


def _stories(groups: list[list[str]]) -> list[Story]:
    stories = [_story(lines) for lines in groups]
    return [story for story in stories if story.sentences or story.questions]


def _story(lines: list[str]) -> Story:
    sentences: list[str] = []
    questions: list[Question] = []
    for line in lines:
        text, _, answer = line.partition("\t")
        for piece in split_sentences(text):
            if is_question(piece):
                said = answer.split("\t")[0].strip()
                questions.append(Question(len(sentences), piece, said))
            else:
                sentences.append(piece)
    return Story(tuple(sentences), tuple(questions))
