"""Own stories as JSON lines: one story per line.

    {"story": ["Mary got the milk.", "Mary went home."],
     "questions": [{"after": 2, "question": "Where is the milk?", "answer": "home"}]}

``after`` says how many sentences have been read when the question is asked; left out, all of them.
``supports`` may list the supporting sentences, counted from 1. ``stories.schema.json`` is the schema.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entnet.data.babi import read_text
from entnet.data.story import Question, Story
from entnet.errors import DataError
from entnet.files import write_atomically
from entnet.text import tokenise

_EXAMPLE = '{"story": ["…"], "questions": [{"after": 1, "question": "…", "answer": "…"}]}'


def read_jsonl(path: Path | str, require_questions: bool = True) -> list[Story]:
    """Read stories from JSON lines."""
    path = Path(path)
    stories = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            stories.append(_story(json.loads(line)))
        except json.JSONDecodeError as error:
            raise DataError(path, number, f"not JSON ({error}); a line is {_EXAMPLE}") from error
        except RecursionError as error:
            raise DataError(path, number, f"nested too deep; a line is {_EXAMPLE}") from error
        except ValueError as error:
            raise DataError(path, number, str(error)) from error
    if require_questions and not any(story.questions for story in stories):
        raise DataError(path, None, f"no question in the file; a line is {_EXAMPLE}")
    return stories


def _story(value: Any) -> Story:
    if not isinstance(value, dict):
        raise ValueError(f"a story is an object: {_EXAMPLE}")
    _only(value, {"story", "questions"})
    sentences = value.get("story")
    if not isinstance(sentences, list) or not sentences:
        raise ValueError('"story" must be a list of at least one sentence')
    for sentence in sentences:
        if not isinstance(sentence, str) or not tokenise(sentence):
            raise ValueError(f"a sentence must be text with words in it, not {sentence!r}")
    questions = value.get("questions", [])
    if not isinstance(questions, list):
        raise ValueError('"questions" must be a list')
    asked = [_question(question, len(sentences)) for question in questions]
    return Story(tuple(sentences), tuple(sorted(asked, key=lambda q: q.after)))


def _question(value: Any, sentences: int) -> Question:
    if not isinstance(value, dict):
        raise ValueError('a question is an object with "after", "question" and "answer"')
    _only(value, {"after", "question", "answer", "supports"})
    text, answer = value.get("question"), value.get("answer")
    if not isinstance(text, str) or not tokenise(text):
        raise ValueError('"question" must be text with words in it')
    if not isinstance(answer, str) or not answer.strip():
        raise ValueError('"answer" must be text')
    after = value.get("after", sentences)
    if not _within(after, sentences):
        raise ValueError(f'"after" must be a whole number from 1 to {sentences}, not {after!r}')
    supports = value.get("supports", [])
    if not isinstance(supports, list) or not all(_within(fact, sentences) for fact in supports):
        raise ValueError(f'"supports" must list sentences, 1 to {sentences}')
    return Question(after, text, answer, tuple(fact - 1 for fact in supports))


def _within(number: Any, most: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= most


def _only(value: dict[str, Any], known: set[str]) -> None:
    extra = sorted(set(value) - known)
    if extra:
        raise ValueError(f"no such field: {', '.join(extra)} (known: {', '.join(sorted(known))})")


def format_jsonl(stories: Sequence[Story]) -> str:
    """Stories as JSON lines."""
    lines = []
    for story in stories:
        questions = []
        for question in story.questions:
            entry: dict[str, Any] = {
                "after": question.after,
                "question": question.text,
                "answer": question.answer,
            }
            if question.supports:
                entry["supports"] = [fact + 1 for fact in question.supports]
            questions.append(entry)
        value = {"story": list(story.sentences), "questions": questions}
        lines.append(json.dumps(value, ensure_ascii=False) + "\n")
    return "".join(lines)


def write_jsonl(path: Path | str, stories: Sequence[Story]) -> None:
    """Write stories as JSON lines."""
    write_atomically(Path(path), format_jsonl(stories).encode())
