"""Stories of `world`: every answer follows from the text, in stories of every size."""

from __future__ import annotations

from pathlib import Path

import pytest

from entnet.data.babi_solvers.mixed import UNKNOWN, MixedStory
from entnet.data.babi_tasks.dice import Dice
from entnet.data.story import Story
from entnet.data.world import pools
from entnet.data.world.mixture import HOUSE_TASKS, mixture, task_story
from entnet.data.world.story import Cast, draw_cast, tell_story
from entnet.text import tokenise


def mixed(count: int, seed: int = 1) -> list:
    dice = Dice.of("test", seed)
    return [tell_story(dice, draw_cast(dice)) for _ in range(count)]


def test_every_answer_follows_from_the_text() -> None:
    for story in mixed(400):
        for asked in story.questions:
            got = MixedStory(story.sentences[: asked.after]).answer(asked.text)
            assert got == asked.answer, (story.sentences[: asked.after], asked)


def test_official_stories_follow_in_the_mixed_world_too(official_data: Path) -> None:
    from entnet.data.babi import read_babi
    from entnet.data.sources import require_babi

    for task in HOUSE_TASKS:
        for story in read_babi(require_babi("en-10k", task, "test", official_data))[:40]:
            for asked in story.questions:
                got = MixedStory(story.sentences[: asked.after]).answer(asked.text)
                assert got == asked.answer, (task, story, asked)


def test_everything_is_asked_and_some_of_it_is_not_told() -> None:
    answers = [asked.answer for story in mixed(600) for asked in story.questions]
    unknown = answers.count(UNKNOWN) / len(answers)
    assert 0.05 < unknown < 0.25
    assert any("," in answer for answer in answers)
    every = {"yes", "no", "maybe", "none", "two", "nothing"}
    assert every <= set(answers)


@pytest.mark.parametrize("task", HOUSE_TASKS)
def test_task_stories_have_names_of_the_pools(task: int) -> None:
    dice = Dice.of("task", task)
    stories = [task_story(dice, task) for _ in range(60)]
    told = {word for story in stories for text in story.sentences for word in tokenise(text)}
    names = {word.lower() for word in (*pools.PEOPLE, *pools.PLACES)}
    assert len(told & names) > 30


def test_equal_arguments_give_equal_stories_and_splits_differ() -> None:
    assert mixture(30, 1) == mixture(30, 1)
    assert mixture(30, 1) != mixture(30, 1, "valid")


def test_training_asks_more_of_what_is_hard_and_its_answers_follow_too() -> None:
    def told(hard: bool) -> list[Story]:
        return mixture(150, 3, task_share=0.4, hard=hard, varied_share=1.0 * hard, long_share=0.2)

    def share_about_before(stories: list[Story]) -> float:
        asked = [question.text for story in stories for question in story.questions]
        return sum(" before " in text or " gave " in text for text in asked) / len(asked)

    assert share_about_before(told(hard=True)) > 1.5 * share_about_before(told(hard=False))
    for story in told(hard=True):
        for asked in story.questions:
            got = MixedStory(story.sentences[: asked.after]).answer(asked.text)
            assert got == asked.answer, (story.sentences[: asked.after], asked)


def test_time_reasoning_is_told_otherwise_where_wanted() -> None:
    usual, changed = (mixture(300, 4, task_share=1.0, varied_share=share) for share in (0.0, 1.0))
    assert not any(len(set(story.sentences)) < len(story.sentences) for story in times(usual))
    twice = [story for story in times(changed) if len(set(story.sentences)) < len(story.sentences)]
    assert twice
    assert all(len(story.questions) == 1 for story in twice)


def times(stories: list[Story]) -> list[Story]:
    """Those of task 14."""
    return [one for one in stories if any("this evening" in text.lower() for text in one.sentences)]


def test_crowds_and_long_stories() -> None:
    cast = Cast(pools.PEOPLE[:10], pools.THINGS[:10], pools.PLACES[:12], sentences=300)
    story = tell_story(Dice.of("crowd"), cast)
    assert len(story.sentences) == 300
    assert all(
        MixedStory(story.sentences[: q.after]).answer(q.text) == q.answer
        for q in story.questions[-60:]
    )
