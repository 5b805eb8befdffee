"""The verbs about networks and stories: nothing here changes anything."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from entnet.data.babi import TASK_NAMES
from entnet.data.babi_tasks import TASKS, generate
from entnet.data.plain import parse_plain
from entnet.data.story import Story
from entnet.serve import schemas
from entnet.serve.problems import ClientError, NoTaskError
from entnet.serve.service import Service

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ProblemOut, "description": text}
    for status, text in {
        400: "The request cannot be understood.",
        401: "The service wants a key.",
        404: "No such session, network or task.",
        409: "The session is full.",
        413: "The request is too large.",
        422: "A value that does not make sense.",
        503: "The service has too much to do, or is about to end.",
    }.items()
}


def add_networks(router: APIRouter, service: Service) -> None:
    library = service.library

    @router.get("/models", tags=["networks"], response_model=schemas.Models)
    async def list_models() -> dict[str, Any]:
        """The networks that can be asked for."""
        models = [library.describe(name) for name in library.names]
        return {"default": library.default, "models": models}

    @router.get("/models/{name}", tags=["networks"], response_model=schemas.ModelDetail)
    async def show_model(name: str) -> dict[str, Any]:
        """A network, with every word that it knows, and which of them are of a kind."""
        model, places = await service.network(name), library.manner(name).places
        kinds = [asdict(kind) for kind in places.kinds] if places else []
        return {**library.describe(name), "vocabulary": model.vocab.words[1:], "kinds": kinds}

    @router.get("/tasks", tags=["stories"], response_model=list[schemas.TaskOut])
    async def list_tasks() -> list[dict[str, Any]]:
        """The bAbI tasks that fresh stories can be made of."""
        return [{"task": task, "name": TASK_NAMES[task]} for task in sorted(TASKS)]

    @router.get("/tasks/{task}/story", tags=["stories"])
    async def fresh_story(
        task: int, seed: Annotated[int | None, Query(ge=0, lt=2**53)] = None
    ) -> schemas.FreshStory:
        """A story of a task that nobody has read before, or the one of a seed."""
        if task not in TASKS:
            raise NoTaskError(sorted(TASKS))
        seed = secrets.randbelow(2**32) if seed is None else seed
        story = (await asyncio.to_thread(generate, task, 30, seed, split="test"))[0]
        return schemas.FreshStory(task=task, seed=seed, **_story(story))

    @router.post("/stories/parse", tags=["stories"], response_model=schemas.StoryOut)
    async def parse_story(body: schemas.ParseIn) -> dict[str, Any]:
        """Cut text into sentences and questions; lines of bAbI files are understood."""
        service.check_length(body.text)
        stories = parse_plain(body.text)
        if len(stories) > 1:
            raise ClientError(f"this text holds {len(stories)} stories; send one at a time")
        return _story(stories[0] if stories else Story((), ()))


def _story(story: Story) -> dict[str, Any]:
    questions = [
        {
            "after": question.after,
            "question": question.text,
            "answer": question.answer,
            "supports": question.supports,
        }
        for question in story.questions
    ]
    return {"sentences": story.sentences, "questions": questions}
