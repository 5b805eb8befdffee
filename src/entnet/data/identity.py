"""Stories known by their content: the same stories have the same hash, whatever their file is called."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from entnet.data.story import Story


def content_hash(stories: Iterable[Story]) -> str:
    """SHA-256 of the stories in order: sentences, questions, answers and supporting facts.

    A bAbI file and a JSON-lines file of the same stories have the same hash.
    """
    digest = hashlib.sha256()
    for story in stories:
        digest.update(_canonical(story))
    return digest.hexdigest()


def count_shared(train: Iterable[Story], test: Iterable[Story]) -> int:
    """Stories of ``test`` that are also in ``train``, questions included."""
    known = {_canonical(story) for story in train}
    return sum(_canonical(story) in known for story in test)


def _canonical(story: Story) -> bytes:
    questions = [
        [question.after, question.text, question.answer, question.supports]
        for question in story.questions
    ]
    return json.dumps([story.sentences, questions], ensure_ascii=False).encode() + b"\n"
