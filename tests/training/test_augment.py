"""Words exchanged for others of their kind."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from entnet import Corpus, Question, RaggedBatch, Story, Vocab
from entnet.config import ConfigError, Permute
from entnet.config.older import group_of
from entnet.data.story import story_words
from entnet.training.augment import Exchange

STORY = Story(
    ("Mary got the milk.", "Mary got the apple.", "John left."),
    (
        Question(2, "What does Mary hold?", "milk,apple"),
        Question(3, "Who left?", "John"),
        Question(3, "What is in the bag?", "apple,milk"),
    ),
)
GROUPS = ("mary john unicorn", "milk apple")


def told(
    stories: list[Story],
    groups: tuple[str, ...],
    seed: int = 0,
    unless: str = "",
    where: str = "",
) -> tuple[Vocab, list[list[str]]]:
    """Each story as the words of its sentences, questions and answers, after an exchange."""
    vocab = Vocab.build(story_words(stories))
    corpus = Corpus.encode(stories, vocab)
    batch = corpus.entries().batch(np.arange(len(stories)))
    permute = Permute.from_dict(
        {
            "groups": [group_of(group) for group in groups],
            "skip_if": unless.split(),
            "only_if": where.split(),
        }
    )
    changed = Exchange(permute, vocab)(batch, np.random.default_rng(seed))
    lines = []
    for i in range(len(stories)):
        first, last = changed.story_offsets[i : i + 2].tolist()
        mine = changed.question_story == i
        numbers = [*changed.words[first:last].flatten().tolist()]
        numbers += changed.question_words[mine].flatten().tolist() + changed.answers[mine].tolist()
        lines.append([vocab.words[number] for number in numbers])
    return vocab, lines


def test_the_whole_story_changes_consistently() -> None:
    _, (same, *rest) = told([STORY] * 1, ())
    seen = set()
    for seed in range(40):
        _, (line,) = told([STORY], GROUPS, seed)
        names = dict(zip(same, line, strict=True))
        assert {names["mary"], names["john"]} == {"mary", "john"}
        assert {names["milk"], names["apple"]} == {"milk", "apple"}
        assert names["milk,apple"] == f"{names['milk']},{names['apple']}"
        assert names["apple,milk"] == f"{names['apple']},{names['milk']}"
        # One word has one stand-in throughout, and words outside the groups stay.
        for word, other in zip(same, line, strict=True):
            assert names[word] == other
        assert all(names[word] == word for word in ("got", "left", "<null>", "who"))
        seen.add((names["mary"], names["milk"]))
    assert rest == []
    assert len(seen) == 4


def test_stories_change_independently() -> None:
    _, lines = told([STORY] * 30, GROUPS)
    assert len({line[0] for line in lines}) == 2


def test_a_list_that_has_no_word_keeps_its_story() -> None:
    story = Story(("Mary got the milk.",), (Question(1, "What?", "milk,football"),))
    other = Story(("Mary got the apple.",), (Question(1, "What?", "apple"),))
    for seed in range(10):
        _, lines = told([story, other], ("milk apple football",), seed)
        assert lines[0][-1] == "milk,football"
        assert "milk" in lines[0]


def test_long_lists_are_exchanged_part_by_part() -> None:
    things = [f"thing{n}" for n in range(12)]
    lists = [",".join(things), ",".join([*things[:-2], things[-1], things[-2]])]
    tales = [Story((" ".join(things),), (Question(1, "What?", one),)) for one in lists]
    seen = set()
    for seed in range(20):
        _, lines = told(tales, ("thing10 thing11",), seed)
        for line, plain in zip(lines, lists, strict=True):
            changed = line[10] == "thing11"
            assert line[-1] == (lists[1 - lists.index(plain)] if changed else plain)
            seen.add(changed)
    assert seen == {True, False}


def test_no_groups_change_nothing() -> None:
    vocab = Vocab.build(story_words([STORY]))
    batch: RaggedBatch = Corpus.encode([STORY], vocab).entries().batch(np.array([0]))
    changed = Exchange(Permute(), vocab)(batch, np.random.default_rng(0))
    assert torch.equal(changed.words, batch.words)
    assert torch.equal(changed.answers, batch.answers)


def test_answers_that_only_look_like_lists_stay() -> None:
    story = Story(
        ("The park is north of the zoo.",), (Question(1, "From the park to the zoo?", "s,w"),)
    )
    other = Story(
        ("The zoo is east of the park.",), (Question(1, "From the zoo to the park?", "w,n"),)
    )
    _, lines = told([story, other], ("park zoo",))
    assert [line[-1] for line in lines] == ["s,w", "w,n"]


def test_stories_of_fixed_knowledge_stay() -> None:
    tired = Story(
        ("Mary is tired.", "John left."), (Question(2, "Where will Mary go?", "bedroom"),)
    )
    free = Story(("Mary left.",), (Question(1, "Where is Mary?", "kitchen"),))
    tales = [
        told([tired, free], ("mary john", "bedroom kitchen"), seed, "tired absent")[1]
        for seed in range(9)
    ]
    assert {line[0][0] for line in tales} == {"mary"}
    assert {line[0][-1] for line in tales} == {"bedroom"}
    assert {line[1][0] for line in tales} == {"mary", "john"}


def test_only_stories_with_a_given_word_change() -> None:
    other = Story(("Mary got the milk.",), (Question(1, "Who got it?", "Mary"),))
    _, plain = told([STORY, other], ())
    changed = [told([STORY, other], GROUPS, seed, where="left nowhere")[1] for seed in range(20)]
    assert all(story == plain[1] for _, story in changed)
    assert any(story != plain[0] for story, _ in changed)
    assert all(told([STORY, other], GROUPS, seed, where="nowhere")[1] == plain for seed in range(5))


def test_a_word_can_keep_a_story_as_it_is() -> None:
    other = Story(("Mary got the milk.",), (Question(1, "Who got it?", "Mary"),))
    _, plain = told([STORY, other], ())
    changed = [told([STORY, other], GROUPS, seed, unless="left")[1] for seed in range(20)]
    assert all(story == plain[0] for story, _ in changed)
    assert any(story != plain[1] for _, story in changed)


COMPASS = "north+n south+s / east+e west+w"
PATHS = [
    Story(
        ("The park is north of the zoo.", "The pub is south of it.", "The inn is west, not east."),
        (Question(3, "How do you go?", f"{first},{second}"),),
    )
    for first in "nsew"
    for second in "nsew"
]


def test_words_that_go_together_are_exchanged_together() -> None:
    """The compass turned or mirrored: opposites stay opposites, and paths turn with it."""
    _, plain = told(PATHS, ())
    seen = set()
    letter = {"north": "n", "south": "s", "east": "e", "west": "w"}
    opposite = {"north": "south", "south": "north", "east": "west", "west": "east"}
    for seed in range(30):
        _, lines = told(PATHS, (COMPASS,), seed)
        for before, after in zip(plain, lines, strict=True):
            turned = dict(zip(before, after, strict=True))
            assert all(opposite[turned[one]] == turned[two] for one, two in opposite.items())
            by_letter = {letter[one]: letter[turned[one]] for one in letter}
            assert after[-1] == ",".join(by_letter[part] for part in before[-1].split(","))
            seen.add(tuple(turned[one] for one in opposite))
    assert len(seen) == 8


def test_blocks_with_members_missing_keep_their_places() -> None:
    story = Story(("North of south is west.",), (Question(1, "Where?", "west"),))
    _, (plain,) = told([story], ())
    seen = {tuple(told([story], (COMPASS,), seed)[1][0]) for seed in range(20)}
    assert len(seen) == 2
    assert all(line[plain.index("west")] == "west" for line in seen)


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        (("north+n south",), "as many words"),
        (("north south / east",), "as many members"),
        (("north south /",), "words expected on both sides"),
        (("red blue", "green blue"), "'blue' is in two groups"),
    ],
)
def test_impossible_groups_are_refused(groups: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        told([STORY], groups)
