"""Many clients at once, each telling a story of its own and checking that nobody else's came in between."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from entnet import EntNet, Story, Tracker
from small_networks import PEOPLE, make_stories


@dataclass
class Told:
    """A story, and what must be answered after each of its sentences."""

    story: Story
    questions: list[str]
    answers: list[str]


def prepare(network: Path, count: int, seed: int) -> list[Told]:
    """Stories with the answers that a tracker of the same network gives alone."""
    model = EntNet.from_pretrained(network)
    dice = random.Random(seed)
    prepared = []
    for story in make_stories(count, seed, sentences=3):
        tracker = Tracker(model)
        questions = [f"Where is {dice.choice(PEOPLE)}?" for _ in story.sentences]
        answers = []
        for sentence, question in zip(story.sentences, questions, strict=True):
            tracker.read(sentence)
            answers.append(tracker.ask(question).answer)
        prepared.append(Told(story, questions, answers))
    return prepared


@dataclass
class Load:
    """What came of it."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return len(self.times) / self.seconds

    def percentile(self, share: float) -> float:
        return sorted(self.times)[int(share * (len(self.times) - 1))]


class Clients:
    """All sessions are open at once; sentences and questions of all of them mix."""

    def __init__(self, url: str, model: str, at_once: int = 16) -> None:
        self.url = url
        self.model = model
        self.at_once = at_once
        self.load = Load()

    def run(self, stories: list[Told]) -> Load:
        asyncio.run(self._run(stories))
        return self.load

    async def _run(self, stories: list[Told]) -> None:
        limits = httpx2.Limits(max_connections=self.at_once)
        async with httpx2.AsyncClient(base_url=self.url, limits=limits, timeout=30) as client:
            began = time.perf_counter()
            self.turn = asyncio.Semaphore(self.at_once)
            ids = await asyncio.gather(*(self._open(client) for _ in stories))
            if len(set(ids)) != len(stories):
                self.load.wrong.append("two sessions have the same id")
            await asyncio.gather(
                *(self._tell(client, name, told) for name, told in zip(ids, stories, strict=True))
            )
            self.load.seconds += time.perf_counter() - began

    async def _open(self, client: httpx2.AsyncClient) -> str:
        return str((await self._send(client, "/sessions", {"model": self.model}))["id"])

    async def _tell(self, client: httpx2.AsyncClient, name: str, told: Told) -> None:
        path = f"/sessions/{name}"
        for number, sentence in enumerate(told.story.sentences):
            read = await self._send(client, f"{path}/read", {"text": sentence})
            if read["sentences_read"] != number + 1:
                self.load.wrong.append(f"{name}: {read['sentences_read']} sentences")
            got = await self._send(client, f"{path}/ask", {"question": told.questions[number]})
            if got["answer"] != told.answers[number]:
                self.load.wrong.append(f"{name}: {got['answer']}, not {told.answers[number]}")
        held = await self._send(client, f"{path}/undo", {"sentences": 1})
        if held["sentences"] != list(told.story.sentences[:-1]):
            self.load.wrong.append(f"{name}: the story changed")

    async def _send(self, client: httpx2.AsyncClient, path: str, body: dict[str, object]) -> dict:  # type: ignore[type-arg]
        async with self.turn:
            began = time.perf_counter()
            answer = await client.post(path, json=body)
            self.load.times.append(time.perf_counter() - began)
        if answer.is_error:
            self.load.wrong.append(f"{path}: {answer.status_code} {answer.text}")
            return {"id": "", "sentences_read": -1, "answer": "", "sentences": []}
        return dict(answer.json())


def resident_megabytes(process: int) -> float:
    """Memory that a process holds."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {process} has no VmRSS")
