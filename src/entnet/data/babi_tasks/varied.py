"""Stories as another generator might tell them: longer, shorter, in another order.

A network that solves a task should solve it in these, too. Where things happen in time (the house), longer
and shorter stories are the generator's own, by its knobs. Where facts merely hold, a longer story tells
each of them twice, and a shorter one leaves out some that no answer rests on. Another order is one that
means the same: any at all for facts; where things happen, one in which the sentences about a person or
thing keep theirs. The solver of the task answers every question anew. Where it does not find the old
answer, or facts told backwards have another (task 16, where the last introduced counts), the question is
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from entnet.data.babi_solvers import SOLVERS, UnsolvableError
from entnet.data.babi_tasks import TASKS, generate
from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.knobs import Knobs
from entnet.data.story import Question, Story
from entnet.errors import EntNetError
from entnet.text import tokenise

Variation = Literal["longer", "shorter", "reordered"]
VARIATIONS: tuple[Variation, ...] = ("longer", "shorter", "reordered")

TIMELESS = (4, 14, 15, 16, 17, 18, 19)
"""Tasks whose sentences may be told in any order: each says when, or tells of what does not change."""
PRONOUNS = frozenset({"he", "she", "they"})
STAYS = 0.8
"""Chance that a reordered story stays with the person of the last sentence, where that is possible."""


def varied(
    task: int, questions: int, seed: int, how: Variation, split: str = "test"
) -> list[Story]:
    """Stories of a task, told otherwise, with exactly so many questions."""
    if how not in VARIATIONS:
        raise EntNetError(f"no variation {how!r}; there are {', '.join(VARIATIONS)}")
    wanted = questions
    while True:
        stories = _told(task, wanted, seed, how, split)
        found = sum(len(story.questions) for story in stories)
        if found >= questions:
            return _first(stories, questions)
        wanted += max(questions - found, questions // 4)


def vary(task: int, stories: Sequence[Story], how: Variation, name: str) -> list[Story]:
    """Given stories told otherwise, each question in a story of its own; ``name`` decides what is drawn.

    Where things happen in time, another order is all that there is; other lengths take the generator.
    """
    dice = Dice.of("told otherwise", task, how, name)
    if task in TIMELESS:
        changes: dict[str, Change] = {"longer": _twice, "shorter": _needed, "reordered": _shuffled}
        change = changes[how]
    elif how == "reordered":
        change = _by_person(task)
    else:
        raise EntNetError(f"task {task} is made {how} by its generator only")
    again = [_asked(story, asked, change, dice) for story in stories for asked in story.questions]
    return _solved(task, again)


def _told(task: int, questions: int, seed: int, how: Variation, split: str) -> list[Story]:
    if how == "reordered" or task in TIMELESS:
        return vary(task, generate(task, questions, seed, split=split), how, f"{seed} {split}")
    return _solved(task, generate(task, questions, seed, _knobs(task, how), split))


def _knobs(task: int, how: Variation) -> Knobs:
    """Half as long and twice as long as the official ones, as far as the task has a knob for it."""
    setting = TASKS[task].setting
    if not setting.questions_per_story:  # task 20, whose people each live through one day
        people = setting.people
        return Knobs(people=people if how == "longer" else people[: len(people) // 2])
    twice = 2 * setting.questions_per_story
    return Knobs(questions_per_story=twice if how == "longer" else setting.questions_per_story // 2)


Change = Callable[[Sequence[str], Sequence[int], Dice], list[int]]
"""Which of the sentences are told, in order; given are those that the answer rests on."""


def _asked(story: Story, question: Question, change: Change, dice: Dice) -> Story:
    """The story up to a question, changed, with this question only."""
    told = story.sentences[: question.after]
    order = change(told, question.supports, dice)
    supports = tuple(order.index(fact) for fact in question.supports)
    again = Question(len(order), question.text, question.answer, supports)
    return Story(tuple(told[i] for i in order), (again,))


def _twice(told: Sequence[str], supports: Sequence[int], dice: Dice) -> list[int]:
    return [*range(len(told)), *dice.draw(range(len(told)), len(told))]


def _needed(told: Sequence[str], supports: Sequence[int], dice: Dice) -> list[int]:
    return [i for i in range(len(told)) if i in supports or dice.chance(0.5)]


def _shuffled(told: Sequence[str], supports: Sequence[int], dice: Dice) -> list[int]:
    return dice.draw(range(len(told)), len(told))


def _by_person(task: int) -> Change:
    """Sentences that share nobody and nothing change places, so that one person's mostly stand together."""
    setting = TASKS[task].setting
    names = {word.lower() for word in (*setting.people, *setting.objects)}

    def change(told: Sequence[str], supports: Sequence[int], dice: Dice) -> list[int]:
        groups: list[list[int]] = []
        of: list[set[str]] = []
        for i, sentence in enumerate(told):
            words = set(tokenise(sentence))
            if words & PRONOUNS and groups:  # it goes wherever the sentence before it goes
                groups[-1].append(i)
                of[-1] |= words & names
            else:
                groups.append([i])
                of.append(words & names)
        left, order = list(range(len(groups))), []
        last: set[str] = set()
        while left:
            ready = [g for k, g in enumerate(left) if not any(of[g] & of[b] for b in left[:k])]
            same = [g for g in ready if of[g] & last] if dice.chance(STAYS) else []
            group = dice.pick(same or ready)
            left.remove(group)
            last = of[group]
            order += groups[group]
        return order

    return change


def _solved(task: int, stories: Sequence[Story]) -> list[Story]:
    """The stories with those of their questions whose answer the solver finds."""
    kept = []
    for story in stories:
        right = tuple(asked for asked in story.questions if _is_solved(task, story, asked))
        if right:
            kept.append(Story(story.sentences, right))
    return kept


def _is_solved(task: int, story: Story, question: Question) -> bool:
    ways = [list(story.sentences[: question.after])]
    if task in TIMELESS:
        once = list(dict.fromkeys(ways[0]))  # what is told again says nothing new
        ways = [once, once[::-1]]
    try:
        return all(SOLVERS[task](told, question.text).answer == question.answer for told in ways)
    except UnsolvableError:
        return False


def _first(stories: Sequence[Story], questions: int) -> list[Story]:
    kept: list[Story] = []
    for story in stories:
        kept.append(Story(story.sentences, story.questions[:questions]))
        questions -= len(kept[-1].questions)
        if not questions:
            break
    return kept
