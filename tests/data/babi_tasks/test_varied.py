"""Stories told otherwise: other lengths, other orders, the same answers."""

from __future__ import annotations

from collections import Counter

import pytest

from entnet.data.babi_solvers import solve_story
from entnet.data.babi_tasks import TASKS, generate
from entnet.data.babi_tasks.varied import TIMELESS, VARIATIONS, Variation, varied, vary
from entnet.data.story import Story, longest_sentence, story_words
from entnet.errors import EntNetError
from entnet.text import tokenise


def mean_length(stories: list[Story]) -> float:
    """Sentences before a question."""
    asked = [question.after for story in stories for question in story.questions]
    return sum(asked) / len(asked)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_told_longer_shorter_and_in_another_order(task: int) -> None:
    usual = generate(task, 100, seed=3)
    for how in VARIATIONS:
        stories = varied(task, 100, seed=3, how=how)
        assert sum(len(story.questions) for story in stories) == 100
        assert story_words(stories) <= story_words(generate(task, 3_000, seed=1))
        assert longest_sentence(stories) <= longest_sentence(generate(task, 3_000, seed=1))
        if how == "longer" and task != 20:  # whose people each live through one day
            assert mean_length(stories) > 1.3 * mean_length(usual)
        if how == "shorter" and task != 17:  # which tells two facts and needs both
            assert mean_length(stories) < mean_length(usual)


@pytest.mark.parametrize("how", VARIATIONS)
@pytest.mark.parametrize("task", [task for task in TASKS if task != 17])
def test_the_solver_finds_every_answer(task: int, how: Variation) -> None:
    for story in varied(task, 50, seed=4, how=how):
        once = Story(tuple(dict.fromkeys(story.sentences)), story.questions)
        for solved, question in zip(
            solve_story(task, once if task in TIMELESS else story), story.questions, strict=True
        ):
            assert solved.answer == question.answer


@pytest.mark.parametrize("task", [1, 2, 3, 5, 8, 12, 13])
def test_another_order_keeps_that_of_everybodys_and_everythings_sentences(task: int) -> None:
    setting = TASKS[task].setting
    usual = generate(task, 60, seed=5)
    told = vary(task, usual, "reordered", "here")
    before = [
        (story.sentences[: asked.after], asked.text) for story in usual for asked in story.questions
    ]
    assert len(told) == len(before)
    moved = 0
    for story, (sentences, question) in zip(told, before, strict=True):
        assert story.questions[0].text == question
        assert Counter(story.sentences) == Counter(sentences)
        moved += story.sentences != sentences
        for name in (*setting.people, *setting.objects):
            own = [s for s in sentences if name.lower() in tokenise(s)]
            assert [s for s in story.sentences if name.lower() in tokenise(s)] == own
    assert moved > (0 if task in (12, 13) else len(told) / 3)  # pairs share people


@pytest.mark.parametrize("how", VARIATIONS)
def test_supporting_facts_are_cited_where_they_now_stand(how: Variation) -> None:
    for story in vary(15, generate(15, 40, seed=6), how, "here"):
        (question,) = story.questions
        kind, fear = (story.sentences[fact] for fact in question.supports)
        assert question.text.split()[2] in kind.lower()
        assert "are afraid of" in fear


def test_the_same_arguments_give_the_same_stories() -> None:
    assert varied(15, 50, 1, "reordered") == varied(15, 50, 1, "reordered")
    assert varied(15, 50, 1, "reordered") != varied(15, 50, 2, "reordered")


def test_what_cannot_be_varied_is_said() -> None:
    with pytest.raises(EntNetError, match="no variation 'louder'; there are longer"):
        varied(1, 10, 1, "louder")  # type: ignore[arg-type]
    with pytest.raises(EntNetError, match="task 1 is made longer by its generator only"):
        vary(1, generate(1, 5, seed=1), "longer", "here")
