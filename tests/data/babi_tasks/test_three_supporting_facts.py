"""Task 3: an object asked about was carried to two places in a row, and the facts say so."""

from __future__ import annotations

import re

from entnet.data.babi_tasks import generate


def test_supporting_facts_name_the_object_and_the_two_places() -> None:
    for story in generate(3, 500, seed=1):
        for question in story.questions:
            asked = re.fullmatch(r"Where was the (\w+) before the (\w+)\?", question.text)
            assert asked is not None
            handled, reached, left = (story.sentences[fact] for fact in question.supports)
            person = handled.split()[0]
            assert asked[1] in handled
            assert reached.startswith(person)
            assert left.startswith(person)
            assert reached.endswith(f"to the {asked[2]}.")
            assert left.endswith(f"to the {question.answer}.")
            assert all(fact < question.after for fact in question.supports)
