"""BABILong: bAbI's facts among the sentences of books. Trained on short documents, tested on long ones."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from entnet.config import Config, EntNetConfig, TrainConfig
from entnet.data.long import Background, Part, Sample, book_files, book_text, samples_of, stretches
from entnet.data.sources import data_root
from entnet.data.splits import TaskStories, joint_stories, task_stories
from entnet.data.story import Corpus, Story, longest_sentence, story_words
from entnet.errors import EntNetError
from entnet.models.base import StoryModel
from entnet.models.compiled import compile_network
from entnet.models.entnet import EntNet
from entnet.models.pressure import Candidates
from entnet.ops.running import RunningText
from entnet.ops.streaming import Stream
from entnet.tasks.spec import JOINT, Result, RunSpec
from entnet.text import UNKNOWN_WORD, Vocab, answer_token, tokenise
from entnet.training.engine import Engine, choose_engine
from entnet.training.hidden import HiddenSource, HidingOptions, Rows, hide, stretches_of
from entnet.training.schedule import ScheduledTask
from entnet.training.trainer import Callback, Trainer, TrainingScore, ValidationScore


@dataclass(frozen=True)
class LongOptions(HidingOptions):
    """What a run starts from, and what it is tested on."""

    start: str = ""
    """A network to start from, by name, ``{task}`` standing for the task's number; empty for none."""
    valid_words: int = 2000
    """Words of validation books in a validation document."""
    test_words: tuple[int, ...] = (0, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
    """Words of test books in a document, a cell of the table each."""
    test_samples: tuple[int, ...] = (1000, 1000, 1000, 200, 100, 20)
    """Questions of each of these lengths, per task."""

    def check(self) -> None:
        super().check()
        self.require(
            len(self.test_words) == len(self.test_samples),
            "test_samples says how many of each length",
        )


VALID_WORDS, VALID_SAMPLES = 1_000_000, 100
"""Seeds are chosen by questions after long documents of validation books, so many per task: short ones
do not tell how often a gate opens for nothing."""

AT_ONCE = 1024
"""Sentences of the books whose gates are looked at with one memory."""


class Books:
    """The books of one part, as sentences and as the rows that a network reads."""

    def __init__(self, text: bytes, words: Sequence[str], longest: int) -> None:
        whole = RunningText(["<null>", UNKNOWN_WORD], 512).split_all(text)
        pieces = RunningText(words, longest).split_all(text)
        self.rows = pieces.words
        self.first = np.append(np.searchsorted(pieces.starts, whole.starts), len(self.rows))
        """Where each sentence's rows start."""
        self.background = Background((whole.words != 0).sum(1))


class LongTest:
    """Asks questions after documents of any length, read as a stream.

    The books are encoded once, and the gates' arguments come from one product for many sentences; those
    that may open a gate are read, the others would change nothing. The books are a ring, which long
    documents pass more than once: a round that opened no gate is not taken again while the memory stays.
    """

    def __init__(self, network: EntNet, books: Books) -> None:
        self.network, self.books = network, books
        self.candidates = Candidates(network, books.rows)
        self.stream = Stream(compile_network(network, move=False))
        with torch.inference_mode():
            state = network.initial_state()
        self.start = state.memory[0].clone()
        self.keys = state.keys.clone()
        self.opened = self.read = 0
        """Book sentences that opened a gate, and words of books read, over all documents."""

    def answer(self, sample: Sample, words: int, rng: np.random.Generator) -> str:
        """What the network says once it has read the facts among so many words of books."""
        question = torch.from_numpy(self._rows([sample.question])[0].astype(np.int64))
        scores, _ = self.stream.read(self.memory_after(sample, words, rng), question)
        return self.network.vocab.words[int(scores.argmax())]

    def memory_after(self, sample: Sample, words: int, rng: np.random.Generator) -> Tensor:
        """The memory once the facts have been read among so many words of books."""
        facts = self._rows(sample.facts)
        books, size = self.books, self.books.background.size
        memory = self.start
        shut = 0  # sentences of the books in a row that left the memory as it is
        for fact, start, end in stretches(books.background.draw(words, len(facts), rng), size):
            before = memory
            if fact is not None:
                memory, _ = self._read(memory, facts[fact : fact + 1])
            else:
                self.read += int(books.background.before[end] - books.background.before[start])
                if shut < size:
                    memory = self._read_books(
                        memory, int(books.first[start]), int(books.first[end])
                    )
                shut += end - start
            shut = shut if memory is before else 0
        return memory

    def _read_books(self, memory: Tensor, first: int, last: int) -> Tensor:
        """The memory after these rows of the books; the very same one if none opened a gate."""
        while first < last:
            end = min(first + AT_ONCE, last)
            for row in self.candidates.near(memory, first, end).tolist():
                after, opened = self._read(memory, self.books.rows[row : row + 1])
                if opened:  # what comes next meets another memory
                    self.opened += 1
                    memory, end = after, row + 1
                    break
            first = end
        return memory

    def _read(self, memory: Tensor, rows: NDArray[np.int32]) -> tuple[Tensor, bool]:
        """The memory after a sentence, and whether it opened a gate; else it is the very same one."""
        after, widest, _ = self.stream.scan(memory, self.keys, rows)
        return (after, True) if widest[0] > 0 else (memory, False)

    def _rows(self, sentences: Sequence[str]) -> np.ndarray:
        config, vocab = self.network.config, self.network.vocab
        rows = np.zeros((len(sentences), config.sentence_length), np.int32)
        for row, sentence in zip(rows, sentences, strict=True):
            numbers = vocab.encode(tokenise(sentence, config.lowercase))
            row[: len(numbers)] = numbers
        return rows


def test_at(
    test: LongTest, stories: Sequence[Story], words: int, count: int, seed: int
) -> dict[str, Any]:
    """Errors on ``count`` questions, drawn evenly from the stories', with so many words of books around."""
    samples = list(samples_of(stories))
    chosen = np.random.default_rng([seed, 11]).permutation(len(samples))[:count]
    rng = np.random.default_rng([seed, words])
    opened, read, began = test.opened, test.read, time.monotonic()
    wrong = 0
    for number in chosen.tolist():
        said = test.answer(samples[number], words, rng)
        wrong += said != answer_token(samples[number].answer)
    seconds = time.monotonic() - began
    read = test.read - read
    return {
        "test_error": round(100 * wrong / len(chosen), 4),
        "test_questions": len(chosen),
        "words": read,
        "opened_per_million": round((test.opened - opened) / read * 1e6, 3) if read else 0.0,
        "seconds": round(seconds, 2),
    }


class LongTask(ScheduledTask):
    """Errors on validation stories hidden in validation books, the same documents every epoch."""

    def __init__(
        self, valid: Corpus, books: Rows, options: LongOptions, config: TrainConfig
    ) -> None:
        super().__init__(config)
        entries = valid.entries("story", None)
        average = float((books != 0).sum(1).mean())
        rng = np.random.default_rng(7)
        self.batches = []
        for group in entries.groups(256):
            counts = np.full(len(group), int(options.valid_words / average))
            rows = stretches_of(books, counts, rng)
            self.batches.append(hide(entries.batch(group), counts, rows, rng))

    def validate(self, engine: Engine, epoch: int, training: TrainingScore) -> ValidationScore:
        errors, loss, asked = self._score(engine)
        percent = {"valid_error": 100 * errors / asked, "train_error": training.error}
        better = self.progress.record(self.config, epoch, errors, loss, percent=percent)
        return ValidationScore(loss, 100 * errors / asked, better)

    def test(self, engine: Engine) -> dict[str, Any]:
        errors, loss, asked = self._score(engine)
        return {
            "valid_error": round(100 * errors / asked, 4),
            "valid_loss": round(loss, 6),
            "valid_questions": asked,
        }

    def _score(self, engine: Engine) -> tuple[int, float, int]:
        errors, loss, asked = 0, 0.0, 0
        for batch in self.batches:
            answers, batch_loss = engine.predict(batch)
            errors += int((answers != batch.answers).sum())
            loss += batch_loss
            asked += batch.questions
        return errors, loss / asked, asked


def settings(kind: str) -> list[type[Config]]:
    return [EntNetConfig, TrainConfig, LongOptions]


def run(spec: RunSpec, callback: Callback | None) -> Result:
    config = TrainConfig.from_dict({**spec.train, "seed": spec.seed})
    options = LongOptions.from_dict(spec.source)
    parts = {
        int(task): task_stories(spec.data, int(task), config.validation, spec.data_root)
        for task in spec.tasks
    }
    stories = joint_stories(list(parts.values())) if spec.task == JOINT else parts[int(spec.task)]
    trainer = long_trainer(spec, config, options, stories)
    line = trainer.train(callback)
    network = StoryModel.from_pretrained(Path(spec.directory) / "model")
    assert isinstance(network, EntNet)
    line["tasks"] = long_scores(network, parts, options, spec)
    line["best"]["valid_long_error"] = valid_long_error(network, parts, spec)
    line["best"]["test_error"] = _mean_error(line["tasks"], options.test_words[0])
    line["last"].setdefault("test_error", None)
    return line


def long_trainer(
    spec: RunSpec, config: TrainConfig, options: LongOptions, stories: TaskStories
) -> Trainer:
    """A run, ready to start."""
    start = (
        StoryModel.from_pretrained(options.start.format(task=spec.task)) if options.start else None
    )
    words = story_words(stories.train) | story_words(stories.valid) | {UNKNOWN_WORD}
    vocab = Vocab.build(words)
    length = int(spec.model.get("sentence_length", 0)) or longest_sentence(stories.train)
    model_config = EntNetConfig.from_dict(
        {**spec.model, "vocabulary": len(vocab), "sentence_length": length, "memory_limit": None}
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = EntNet(model_config, vocab)
    if start is not None:
        take_over(model, start)
    books = [_rows(part, spec, vocab, length) for part in ("train", "valid")]
    train, valid = (Corpus.encode(part, vocab, length) for part in (stories.train, stories.valid))
    return Trainer(
        spec.directory,
        model,
        choose_engine(model, config),
        HiddenSource(train, model, config, books[0], options),
        LongTask(valid, books[1], options, config),
        config,
        {**spec.about(), "train_data": stories.train_data},
        spec.checkpoint_seconds,
    )


def take_over(model: EntNet, other: StoryModel) -> None:
    """Take the weights of a network with the same sizes: of words by their names, of masks as far as it
    has them.

    What the other network lacks keeps its start; the rows of words that it lacks become zero in R.
    """
    theirs, mine = other.state_dict(), model.state_dict()
    known = [word for word in model.vocab.words if word in other.vocab]
    to, of = model.vocab.encode(known), other.vocab.encode(known)
    with torch.no_grad():
        for name, parameter in mine.items():
            given = theirs[name]
            if name in ("embedding", "readout.R"):
                if name == "readout.R":
                    parameter.zero_()
                parameter[to] = given[of]
            elif name.startswith("encoder."):
                shared = min(len(parameter), len(given))
                parameter[:shared] = given[:shared]
            elif parameter.shape == given.shape:
                parameter.copy_(given)
            else:
                raise EntNetError(
                    f"its start has {name} {tuple(given.shape)}, not {tuple(parameter.shape)}"
                )
    model.load_state_dict(mine)


def long_scores(
    network: EntNet, parts: dict[int, TaskStories], options: LongOptions, spec: RunSpec
) -> dict[str, dict[str, Any]]:
    """Errors of every task at every length, in documents of the test books."""
    books = Books(_text("test", spec), network.vocab.words, network.config.sentence_length)
    test = LongTest(network, books)
    return {
        str(task): {
            str(words): test_at(test, part.test, words, count, spec.seed)
            for words, count in zip(options.test_words, options.test_samples, strict=True)
        }
        for task, part in parts.items()
    }


def valid_long_error(network: EntNet, parts: dict[int, TaskStories], spec: RunSpec) -> float:
    """Errors in percent on validation questions, a million words of validation books around the facts."""
    config = network.config
    test = LongTest(
        network, Books(_text("valid", spec), network.vocab.words, config.sentence_length)
    )
    cells = [
        test_at(test, part.valid, VALID_WORDS, VALID_SAMPLES, seed=1) for part in parts.values()
    ]
    return round(float(np.mean([cell["test_error"] for cell in cells])), 4)


def validation(line: Result) -> tuple[float, float, float]:
    """What seeds are chosen by, the least of it. Older lines know short documents alone."""
    best = line["best"]
    return best.get("valid_long_error", math.inf), best["valid_error"], best["valid_loss"]


def _mean_error(tasks: dict[str, dict[str, Any]], words: int) -> float:
    return round(float(np.mean([cells[str(words)]["test_error"] for cells in tasks.values()])), 4)


def _text(part: Part, spec: RunSpec) -> bytes:
    root = data_root(spec.data_root)
    return book_text(book_files(root / "gutenberg", part))


def _rows(part: Part, spec: RunSpec, vocab: Vocab, length: int) -> Rows:
    pieces = RunningText(vocab.words, length).split_all(_text(part, spec))
    return pieces.words.astype(np.int16)
