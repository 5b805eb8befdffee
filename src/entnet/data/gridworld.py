"""The world model task: agents walk on a grid, and the network is asked where they are.

    agent1 is at (2,8). agent1 faces-N. agent2 is at (9,7). agent2 faces-N.
    agent2 moves-2. agent2 faces-E. agent2 moves-1. agent1 moves-1. agent2 faces-S. agent2 moves-5.
    Where is agent1? 2,9     Where is agent2? 10,4

Every agent in turn is placed and given a direction; these sentences count towards the length T.
Then, at each step, an agent chosen at random does something legal: it turns to one of the three
other directions, or moves ahead by at least one field without leaving the grid. docs/gridworld.md
states the rules in full.

Stories are simulated many at a time. An agent's state is one number, ``facing * fields + field``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from entnet.config import Config
from entnet.data.story import Ints, Question, RaggedBatch, Story
from entnet.text import Vocab

DIRECTIONS = ("N", "E", "S", "W")
SENTENCE_LENGTH = 4
"""Words in the longest sentence, ``agent1 is at (2,8)``."""

Asked = Literal["all", "one"]
_Small = NDArray[np.int32]


@dataclass(frozen=True)
class GridStories:
    """S simulated stories of T sentences: what is said, and what is true after each sentence."""

    words: Ints
    """(S, T, L)"""
    fields: _Small
    """(S, T, A) each agent's field after each sentence, ``(x − 1) * height + y − 1``; −1: none."""
    facing: _Small
    """(S, T, A) number of the direction in DIRECTIONS; −1: not said yet."""


@dataclass(frozen=True)
class GridWorld(Config):
    """The rules: how large the grid is, who is on it, and what they do."""

    width: int = 10
    """Fields from west to east; x goes from 1 to this."""
    height: int = 10
    """Fields from south to north; y goes from 1 to this."""
    agents: int = 2
    turn_chance: float = 0.5
    """Chance that an agent with room ahead turns rather than moves; without room it always does."""
    longest_move: int | None = None
    """Most fields in one move; as far as the grid goes when not given."""

    def check(self) -> None:
        self.at_least(1, "width", "height", "agents")
        self.require(
            0 <= self.turn_chance <= 1, f"turn_chance is {self.turn_chance}, but must be in [0, 1]"
        )
        self.require(
            self.longest_move is None or self.longest_move >= 1,
            f"longest_move is {self.longest_move}, but must be at least 1",
        )

    @property
    def grid_fields(self) -> int:
        return self.width * self.height

    @property
    def opening(self) -> int:
        """Sentences until every agent is placed and faces somewhere."""
        return 2 * self.agents

    def coordinates(self, field: int) -> tuple[int, int]:
        """x and y of a field, counted from 1."""
        return field // self.height + 1, field % self.height + 1

    def field_word(self, field: int) -> str:
        x, y = self.coordinates(field)
        return f"{x},{y}"

    @cached_property
    def vocab(self) -> Vocab:
        """Every word that a story of this world can have: the same for all of its stories."""
        return Vocab.build(
            [
                "where",
                "is",
                "at",
                *(f"agent{agent + 1}" for agent in range(self.agents)),
                *(f"faces-{direction.lower()}" for direction in DIRECTIONS),
                *(f"moves-{steps}" for steps in range(1, self._most_steps + 1)),
                *(self.field_word(field) for field in range(self.grid_fields)),
            ]
        )

    @cached_property
    def field_words(self) -> Ints:
        """The number of each field's word."""
        return self._numbers(self.field_word(field) for field in range(self.grid_fields))

    @property
    def _most_steps(self) -> int:
        return min(max(self.width, self.height) - 1, self.longest_move or self.width * self.height)

    def _numbers(self, words: Iterator[str]) -> Ints:
        return np.array([self.vocab.index[word] for word in words], dtype=np.int64)

    @cached_property
    def _agent_words(self) -> Ints:
        return self._numbers(f"agent{agent + 1}" for agent in range(self.agents))

    @cached_property
    def _action_words(self) -> Ints:
        """An action is a number: 0 to 3 turn to that direction, 3 + n moves n fields."""
        turns = self._numbers(f"faces-{direction.lower()}" for direction in DIRECTIONS)
        moves = self._numbers(f"moves-{steps}" for steps in range(1, self._most_steps + 1))
        return np.concatenate([turns, moves])

    @cached_property
    def _room(self) -> _Small:
        """Fields that an agent can move ahead, by state."""
        x, y = np.divmod(np.arange(self.grid_fields), self.height)
        ahead = [self.height - 1 - y, self.width - 1 - x, y, x]
        room: _Small = np.minimum(np.concatenate(ahead), self._most_steps).astype(np.int32)
        return room

    @cached_property
    def _stride(self) -> _Small:
        """What one field ahead adds to the state, by state."""
        strides = np.array([1, self.height, -1, -self.height], dtype=np.int32)
        return np.repeat(strides, self.grid_fields)

    def simulate(self, rng: np.random.Generator, stories: int, length: int) -> GridStories:
        """So many stories of ``length`` sentences, each independent of the others."""
        if stories < 0 or length < 1:
            raise ValueError(f"{stories} stories of {length} sentences: both must be positive")
        words = np.zeros((length, stories, SENTENCE_LENGTH), dtype=np.int64)
        states = np.full((length, self.agents, stories), -1, dtype=np.int32)
        state = self._open(rng, words, states)
        rows = np.arange(stories)
        for t in range(self.opening, length):
            agent = rng.integers(self.agents, size=stories)
            before = state[agent, rows]
            action, after = self._act(rng, before)
            state[agent, rows] = after
            words[t, :, 0] = self._agent_words[agent]
            words[t, :, 1] = self._action_words[action]
            states[t] = state
        return self._split(words, states)

    def _open(self, rng: np.random.Generator, words: Ints, states: _Small) -> _Small:
        """Place the agents, as far as the story goes, and return where everyone will be: (A, S)."""
        length, agents, stories = states.shape
        fields = rng.integers(self.grid_fields, size=(agents, stories), dtype=np.int32)
        facing = rng.integers(len(DIRECTIONS), size=(agents, stories), dtype=np.int32)
        state = facing * np.int32(self.grid_fields) + fields
        opening = self.opening_words(fields, facing)[: min(length, self.opening)]
        words[: len(opening)] = opening
        for t in range(len(opening)):
            states[t, : t // 2 + 1] = state[: t // 2 + 1]
        return state

    def opening_words(self, fields: _Small, facing: _Small) -> Ints:
        """The sentences that put agents on these fields, facing there, (A, S): (2 A, S, L)"""
        words = np.zeros((self.opening, fields.shape[1], SENTENCE_LENGTH), dtype=np.int64)
        for agent, (placed, faced) in enumerate(zip(words[::2], words[1::2], strict=True)):
            placed[:, 0] = faced[:, 0] = self._agent_words[agent]
            placed[:, 1], placed[:, 2] = self.vocab.index["is"], self.vocab.index["at"]
            placed[:, 3] = self.field_words[fields[agent]]
            faced[:, 1] = self._action_words[facing[agent]]
        return words

    def _act(self, rng: np.random.Generator, state: _Small) -> tuple[_Small, _Small]:
        """A legal action for each agent in ``state``, and the state that it leads to."""
        room = self._room[state]
        facing, field = np.divmod(state, np.int32(self.grid_fields))
        chance = rng.random((2, state.size), dtype=np.float32)
        moves = (chance[0] >= self.turn_chance) & (room > 0)
        # A float below 1 times a small whole number can round up to it: keep the result below.
        steps = np.minimum((chance[1] * room).astype(np.int32), room - 1) + np.int32(1)
        other = np.minimum((chance[1] * 3).astype(np.int32), 2) + np.int32(1)
        turned = (facing + other) % np.int32(len(DIRECTIONS))
        action = np.where(moves, steps + np.int32(3), turned)
        ahead = state + steps * self._stride[state]
        return action, np.where(moves, ahead, turned * np.int32(self.grid_fields) + field)

    def _split(self, words: Ints, states: _Small) -> GridStories:
        states = np.ascontiguousarray(states.transpose(2, 0, 1))
        placed = states >= 0
        facing, fields = np.divmod(states, np.int32(self.grid_fields))
        for agent in range(self.agents):
            facing[:, : 2 * agent + 1, agent] = -1
        return GridStories(
            words=np.ascontiguousarray(words.transpose(1, 0, 2)),
            fields=np.where(placed, fields, np.int32(-1)),
            facing=np.where(placed, facing, np.int32(-1)),
        )

    def question_words(self, agents: Ints) -> Ints:
        """(Q, L) ``where is agentN`` for each of these agents."""
        out = np.zeros((len(agents), SENTENCE_LENGTH), dtype=np.int64)
        out[:, 0] = self.vocab.index["where"]
        out[:, 1] = self.vocab.index["is"]
        out[:, 2] = self._agent_words[agents]
        return out

    def describe(self, stories: GridStories, ask_from: int | None = None) -> list[Story]:
        """The same stories as text, asking for every agent: at the end, or from a sentence on."""
        length = stories.words.shape[1]
        first = length if ask_from is None else ask_from
        return [
            Story(
                sentences=tuple(self._sentence(sentence) for sentence in said),
                questions=tuple(
                    Question(after, f"where is agent{agent + 1}?", self.field_word(int(field)))
                    for after in range(first, length + 1)
                    for agent, field in enumerate(fields[after - 1])
                    if field >= 0
                ),
            )
            for said, fields in zip(stories.words, stories.fields, strict=True)
        ]

    def _sentence(self, numbers: Ints) -> str:
        words = [self.vocab.words[number] for number in numbers if number]
        if len(words) == SENTENCE_LENGTH:
            words[-1] = f"({words[-1]})"
        elif words[1].startswith("faces-"):
            words[1] = words[1][:-1] + words[1][-1].upper()
        return " ".join(words) + "."


def generate(world: GridWorld, stories: int, length: int, seed: int) -> list[Story]:
    """Stories as text, asking for every agent at the end."""
    return world.describe(world.simulate(np.random.default_rng(seed), stories, length))


@dataclass(frozen=True)
class Asking:
    """Which questions a batch of grid stories holds."""

    first: int | None = None
    """Ask after every sentence from this one on, counted from 1; if not given, at the end only."""
    agents: Asked = "all"
    """At each of those places ask for every agent, or for one drawn at random."""
    same_ends: bool = False
    """Beside every story give its shortest: an opening that puts everybody where the story leaves them."""


def ask(
    world: GridWorld, stories: GridStories, asking: Asking, rng: np.random.Generator
) -> RaggedBatch:
    """Lay simulated stories end to end with their questions."""
    count, length, _ = stories.words.shape
    first = length if asking.first is None else asking.first
    if not world.opening <= first <= length:
        raise ValueError(
            f"questions from sentence {first} on: must be between {world.opening}, when every "
            f"agent has its place, and the length {length}"
        )
    steps = np.arange(first - 1, length)
    shape = (count, len(steps), world.agents if asking.agents == "all" else 1)
    if asking.agents == "all":
        agents = np.broadcast_to(np.arange(world.agents), shape)
    else:
        agents = rng.integers(world.agents, size=shape)
    fields = np.take_along_axis(stories.fields[:, steps], agents, axis=2)
    rows = np.arange(count)[:, None] * length + steps
    return RaggedBatch(
        words=torch.from_numpy(stories.words.reshape(count * length, SENTENCE_LENGTH)),
        story_offsets=torch.arange(count + 1) * length,
        question_words=torch.from_numpy(world.question_words(agents.reshape(-1))),
        question_step=torch.from_numpy(np.repeat(rows.reshape(-1), shape[2])),
        answers=torch.from_numpy(world.field_words[fields.reshape(-1)]),
        same_ends=_same_ends(world, stories) if asking.same_ends else None,
    )


def _same_ends(world: GridWorld, stories: GridStories) -> RaggedBatch:
    """The shortest stories that end as these do."""
    words = world.opening_words(stories.fields[:, -1].T, stories.facing[:, -1].T).transpose(1, 0, 2)
    nothing = torch.zeros(0, dtype=torch.int64)
    return RaggedBatch(
        words=torch.from_numpy(words.reshape(-1, SENTENCE_LENGTH)),
        story_offsets=torch.arange(len(words) + 1) * world.opening,
        question_words=torch.zeros((0, SENTENCE_LENGTH), dtype=torch.int64),
        question_step=nothing,
        answers=nothing,
    )


def grid_batch(
    world: GridWorld,
    rng: np.random.Generator,
    stories: int,
    length: int,
    asking: Asking | None = None,
) -> RaggedBatch:
    """A batch of fresh stories."""
    return ask(world, world.simulate(rng, stories, length), asking or Asking(), rng)


def grid_stream(
    world: GridWorld,
    seed: int | list[int],
    stories: int,
    lengths: tuple[int, int],
    asking: Asking,
    chunk: int = 128,
) -> Iterator[RaggedBatch]:
    """Batches of fresh stories without end.

    All stories of a batch have one length, drawn between the two (both included). Batches are made
    ``chunk`` at a time, shorter stories cut from longer ones: the beginning of a story is a story.
    """
    rng = np.random.default_rng(seed)
    shortest, longest = lengths
    while True:
        made = world.simulate(rng, stories * chunk, longest)
        for start in range(0, stories * chunk, stories):
            part = slice(start, start + stories)
            length = int(rng.integers(shortest, longest + 1)) if shortest < longest else longest
            cut = GridStories(
                made.words[part, :length], made.fields[part, :length], made.facing[part, :length]
            )
            yield ask(world, cut, asking, rng)
