"""The verbs about processes: where every participant of a paragraph is after each sentence."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, StringConstraints

from entnet.data.plain import split_sentences
from entnet.data.propara.process import UNKNOWN, Process
from entnet.inspection.processes import EXAMPLE, cells
from entnet.models import StoryModel
from entnet.models.processes.base import ProcessModel
from entnet.serve.problems import ClientError, NoModelError
from entnet.serve.schemas import Body
from entnet.serve.service import Service

MAX_CHARACTERS, MAX_SENTENCES, MAX_PARTICIPANTS = 2_000, 20, 12
"""Work grows with their product. Paragraphs of ProPara are a fifth of this."""

Participant = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"\w")
]
States = Annotated[list[list[str]], Field(description="A place, “?” (somewhere) or “-” (nowhere).")]


class NoProcessesError(ClientError):
    status = 404

    def __init__(self) -> None:
        super().__init__("no network that reads processes is served here")


class ProcessModelOut(BaseModel):
    name: str
    title: str | None
    parameters: int
    words: int


class ExampleOut(BaseModel):
    name: str
    sentences: list[str]
    participants: list[str]


class ProcessesOut(BaseModel):
    models: list[ProcessModelOut]
    examples: list[ExampleOut]


class ProcessIn(Body):
    model: str | None = Field(default=None, description="A network's name; none for the first.")
    text: str = Field(examples=["The sun heats the sea. Water vapor rises into the sky."])
    participants: Annotated[list[Participant], Field(min_length=1, max_length=MAX_PARTICIPANTS)]


class GridOut(BaseModel):
    model: str
    sentences: list[str]
    participants: list[str]
    states: States
    corrections: list[list[str | None]] | None = Field(
        description="Of an example, the right state where it is another one; none for other texts."
    )


class ProcessReaders:
    """Networks on processes by name, loaded when first asked for; one paragraph is read at a time."""

    def __init__(self, service: Service) -> None:
        self.offers = service.library.processes
        self._lock = threading.Lock()
        self._loaded: dict[str, ProcessModel] = {}

    def read(self, name: str, process: Process) -> Process:
        with self._lock:
            if name not in self._loaded:
                model = StoryModel.from_pretrained(self.offers[name].source)
                assert isinstance(model, ProcessModel)
                self._loaded[name] = model
            (predicted,) = self._loaded[name].predict_processes([process])
        return predicted


def add_processes(router: APIRouter, service: Service) -> None:
    readers = ProcessReaders(service)

    @router.get("/processes", tags=["processes"], response_model=ProcessesOut)
    async def list_processes() -> dict[str, Any]:
        """The networks that read processes, and paragraphs to begin with."""
        example = {
            "name": EXAMPLE.name,
            "sentences": EXAMPLE.sentences,
            "participants": EXAMPLE.participants,
        }
        return {
            "models": [dict(offer.about) for offer in readers.offers.values()],
            "examples": [example],
        }

    @router.post("/processes", tags=["processes"], response_model=GridOut)
    async def read_process(body: ProcessIn) -> dict[str, Any]:
        """The grid of a paragraph: where each participant is before the first sentence and after each."""
        if not readers.offers:
            raise NoProcessesError
        name = body.model or next(iter(readers.offers))
        if name not in readers.offers:
            raise NoModelError(name, list(readers.offers))
        process = _process(body)
        async with service.work:
            predicted = await asyncio.to_thread(readers.read, name, process)
        return {
            "model": name,
            "sentences": process.sentences,
            "participants": process.participants,
            "states": predicted.states,
            "corrections": _corrections(predicted),
        }


def _corrections(predicted: Process) -> list[list[str | None]] | None:
    """For each participant, what is right after each sentence where another state was predicted."""
    asked = (predicted.sentences, predicted.participants)
    if asked != (EXAMPLE.sentences, EXAMPLE.participants):
        return None
    return [
        list(row)
        for row in zip(
            *([cell.gold for cell in row] for row in cells(predicted, EXAMPLE)), strict=True
        )
    ]


def _process(body: ProcessIn) -> Process:
    if len(body.text) > MAX_CHARACTERS:
        raise ClientError(
            f"a paragraph of {len(body.text):,} characters; at most {MAX_CHARACTERS:,} are read"
        )
    sentences = tuple(split_sentences(body.text))
    if not sentences:
        raise ClientError("nothing to read: the text has no sentence in it")
    if len(sentences) > MAX_SENTENCES:
        raise ClientError(f"{len(sentences)} sentences; at most {MAX_SENTENCES} are read")
    states = ((UNKNOWN,) * (len(sentences) + 1),) * len(body.participants)
    return Process("own", sentences, tuple(body.participants), states)
