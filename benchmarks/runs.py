"""Training runs that are timed: ours and plain PyTorch's, alone or side by side."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from benchmarks import tasks
from benchmarks.plain import PaddedBatch, PlainEntNet, PlainTrainer
from entnet import EntNet, TrainConfig
from entnet.training.loop import draw_groups
from entnet.training.native_engine import NativeEngine

Kind = Literal["plain", "ours"]
BATCH = 32


@dataclass(frozen=True)
class Timing:
    """What one process did in its time."""

    questions: int
    sentences: int
    seconds: float
    data: str
    resident_megabytes: float
    phases: dict[str, float]
    """Where our steps' time went."""

    @property
    def questions_per_second(self) -> float:
        return self.questions / self.seconds

    @property
    def sentences_per_second(self) -> float:
        return self.sentences / self.seconds


def plain_steps(data: tasks.TaskData) -> Iterator[tuple[int, int]]:
    """Train for ever, in plain PyTorch; yields the questions and sentences of every step."""
    c = data.config
    model = PlainEntNet(c.vocabulary, c.sentence_length, c.width, c.slots)
    trainer = PlainTrainer(model)
    entries = data.entries("question")
    dice = np.random.default_rng(1)
    while True:
        order = dice.permutation(len(entries))
        for start in range(0, len(order), BATCH):
            batch = PaddedBatch.gather(entries, order[start : start + BATCH])
            trainer.step(batch)
            yield len(batch.answers), int(batch.lengths.sum())


def our_steps(data: tasks.TaskData, engine: NativeEngine) -> Iterator[tuple[int, int]]:
    """Train for ever on the compiled engine, drawing batches as the training loop does."""
    entries = data.entries("story")
    config = TrainConfig(batch_size=BATCH)
    epoch = 0
    while True:
        epoch += 1
        for batch in entries.batches(draw_groups(entries, config, epoch)):
            engine.step(batch, config.learning_rate)
            yield batch.questions, batch.sentences


def train_for(
    kind: Kind, task: int, threads: int, seconds: float, ready: Callable[[], object]
) -> Timing:
    """Train for so many seconds in this process; ``ready`` is called when all is warm."""
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    data = tasks.load(task)
    engine = None
    if kind == "ours":
        engine = NativeEngine(EntNet(data.config, data.vocab), TrainConfig(batch_size=BATCH))
        steps = our_steps(data, engine)
    else:
        steps = plain_steps(data)
    warm = time.perf_counter() + min(1.0, seconds / 4)
    while time.perf_counter() < warm:
        next(steps)
    if engine is not None:
        engine.seconds = dict.fromkeys(engine.seconds, 0.0)
    ready()
    began = time.perf_counter()
    questions = sentences = 0
    while time.perf_counter() - began < seconds:
        seen = next(steps)
        questions += seen[0]
        sentences += seen[1]
    elapsed = time.perf_counter() - began
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    phases = {} if engine is None else engine.seconds
    return Timing(questions, sentences, elapsed, data.source, resident, phases)


def _work(kind: Kind, task: int, threads: int, seconds: float, start: Any, results: Any) -> None:
    results.put(train_for(kind, task, threads, seconds, start.wait))


def timed(kind: Kind, task: int, processes: int, threads: int, seconds: float) -> list[Timing]:
    """Train for so many seconds in each of so many processes at once."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(processes), context.Queue()
    workers = [
        context.Process(target=_work, args=(kind, task, threads, seconds, start, results))
        for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    found: list[Timing] = []
    while len(found) < processes:
        try:
            found.append(results.get(timeout=1.0))
        except multiprocessing.queues.Empty:  # type: ignore[attr-defined]
            if any(worker.exitcode not in (None, 0) for worker in workers):
                for worker in workers:
                    worker.terminate()
                raise RuntimeError(f"a {kind} run of task {task} failed") from None
    for worker in workers:
        worker.join()
    return found
