"""Stories to train `world` on: some as bAbI tells them, task by task, most with everything in one."""

from __future__ import annotations

from dataclasses import replace

from entnet.data.babi_tasks import TASKS
from entnet.data.babi_tasks.dice import Dice
from entnet.data.babi_tasks.varied import VARIATIONS, vary
from entnet.data.story import Story
from entnet.data.world import pools
from entnet.data.world.story import LONG_SHARE, draw_cast, tell_story

HOUSE_TASKS = (1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
"""bAbI's tasks that are told of people in a house."""
HARD_TASKS = (2, 3, 14)
"""Those whose answers follow from several sentences; there are twice as many stories of them."""
STILL_HARDER = (3, 3, 5, 14, 14)
"""With ``hard``, as many more of these."""
TASK_SHARE = 0.5
"""Share of the stories that are told as bAbI tells them, of one task."""
FILLED_SHARE = 0.0
"""Share of the stories told with words that say nothing: sentences are longer and begin elsewhere. None, as
binding leaves such words out (`entnet.binding`)."""
LONGEST = 120


def task_story(dice: Dice, task: int) -> Story:
    """A story of one of bAbI's tasks, about people, things and places from larger pools."""
    setting = TASKS[task].setting
    more = dice.chance(0.3)
    people = dice.draw(pools.PEOPLE, len(setting.people) + (dice.below(6) if more else 0))
    places = dice.draw(pools.PLACES, len(setting.places) + (dice.below(6) if more else 0))
    things: list[str] = []
    if setting.objects:
        pool = pools.THINGS[: pools.LISTABLE] if task == 8 else pools.THINGS
        things = dice.draw(pool, 3 if task == 8 or not more else 3 + dice.below(5))
    changed = replace(setting, people=tuple(people), places=tuple(places), objects=tuple(things))
    story = TASKS[task].story(dice, changed)
    if len(story.sentences) <= LONGEST:
        return story
    kept = tuple(asked for asked in story.questions if asked.after <= LONGEST)
    return Story(story.sentences[:LONGEST], kept)


def told_otherwise(dice: Dice, task: int, story: Story) -> Story:
    """One of the story's questions, its sentences told twice, in part, or in another order."""
    found = vary(task, [story], dice.pick(VARIATIONS), str(dice.below(1_000_000)))
    return dice.pick(found) if found else story


def filled(dice: Dice, text: str) -> str:
    """A sentence or question with a few words more that say nothing."""
    words, end = text[:-1].split(" "), text[-1]
    for _ in range(1 + dice.below(4)):
        words.insert(dice.below(len(words) + 1), dice.pick(pools.FILLERS))
    return " ".join(words) + end


def filled_story(dice: Dice, story: Story) -> Story:
    """The same story with words more in half of its sentences, and in some of its questions."""
    sentences = (filled(dice, text) if dice.chance(0.5) else text for text in story.sentences)
    questions = (
        replace(asked, text=filled(dice, asked.text) if dice.chance(0.2) else asked.text)
        for asked in story.questions
    )
    return Story(tuple(sentences), tuple(questions))


def sized_stories(
    stories: int,
    seed: int,
    split: str,
    people: int | None = None,
    things: int | None = None,
    places: int | None = None,
    sentences: int | None = None,
) -> list[Story]:
    """Mixed stories with so many of each; what is not given is drawn as in the mixture."""
    dice = Dice.of(
        "world", "seed", seed, split, people or 0, things or 0, places or 0, sentences or 0
    )
    made: list[Story] = []
    while len(made) < stories:
        cast = draw_cast(dice, LONGEST)
        story = tell_story(
            dice,
            replace(
                cast,
                people=cast.people if people is None else tuple(dice.draw(pools.PEOPLE, people)),
                things=cast.things if things is None else tuple(dice.draw(pools.THINGS, things)),
                places=cast.places if places is None else tuple(dice.draw(pools.PLACES, places)),
                diarists=cast.diarists if people is None else (),
                sentences=sentences or cast.sentences,
            ),
        )
        if story.questions:
            made.append(story)
    return made


def mixture(
    stories: int,
    seed: int,
    split: str = "train",
    task_share: float = TASK_SHARE,
    filled_share: float = FILLED_SHARE,
    hard: bool = False,
    long_share: float = LONG_SHARE,
    varied_share: float = 0.0,
) -> list[Story]:
    """So many stories. Equal arguments give equal stories; another seed or split, unrelated ones.

    hard: more of them, and more questions in them, are about what follows from several sentences.
    varied_share: of the stories of task 14 (time reasoning), those told longer, shorter or reordered.
    """
    tasks = (*HOUSE_TASKS, *HARD_TASKS, *(STILL_HARDER if hard else ()))
    dice = Dice.of("world", "seed", seed, split)
    made: list[Story] = []
    while len(made) < stories:
        if dice.chance(task_share):
            task = dice.pick(tasks)
            story = task_story(dice, task)
            if task == 14 and varied_share and dice.chance(varied_share):
                story = told_otherwise(dice, task, story)
        else:
            story = tell_story(dice, draw_cast(dice, LONGEST, long_share), hard=hard)
        if dice.chance(filled_share):
            story = filled_story(dice, story)
        if story.questions:
            made.append(story)
    return made
