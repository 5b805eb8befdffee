"""The service's verbs. Each is short: it finds a session, does one thing with it and says what came."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from entnet.data.babi import TASK_NAMES
from entnet.data.babi_tasks import TASKS, generate
from entnet.data.plain import parse_plain
from entnet.data.story import Story
from entnet.inspection.trace import answer_dict, near_dicts, rounded
from entnet.serve import schemas
from entnet.serve.library import Library
from entnet.serve.metrics import Metrics
from entnet.serve.problems import ClientError, NoTaskError
from entnet.serve.sessions import Session, SessionStore
from entnet.serve.settings import ServeSettings
from entnet.tracker import SentenceRead, SlotContent

Words = Annotated[int, Query(ge=1, le=20, description="Nearest words to give for each slot.")]
After = Annotated[int | None, Query(ge=0, description="As of so many sentences; none for now.")]
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ProblemOut, "description": text}
    for status, text in {
        400: "The request cannot be understood.",
        401: "The service wants a key.",
        404: "No such session, network or task.",
        409: "The session is full.",
        413: "The request is too large.",
        422: "A value that does not make sense.",
    }.items()
}


@dataclass(frozen=True)
class Service:
    """What the verbs share."""

    settings: ServeSettings
    library: Library
    sessions: SessionStore
    metrics: Metrics


def about_networks(service: Service) -> APIRouter:
    """Networks and stories: nothing here changes anything."""
    router = APIRouter(responses=PROBLEMS)

    @router.get("/models", tags=["networks"])
    def list_models() -> schemas.Models:
        """The networks that can be asked for."""
        names = service.library.names
        return schemas.Models(
            default=service.library.default,
            models=[schemas.ModelOut(**describe(service, name)) for name in names],
        )

    @router.get("/models/{name}", tags=["networks"])
    def show_model(name: str) -> schemas.ModelDetail:
        """A network, with every word that it knows."""
        about = describe(service, name)
        words = service.library.load(name).vocab.words[1:]
        return schemas.ModelDetail(**about, vocabulary=list(words))

    @router.get("/tasks", tags=["stories"])
    def list_tasks() -> list[schemas.TaskOut]:
        """The bAbI tasks that fresh stories can be made of."""
        return [schemas.TaskOut(task=task, name=TASK_NAMES[task]) for task in sorted(TASKS)]

    @router.get("/tasks/{task}/story", tags=["stories"])
    def fresh_story(
        task: int, seed: Annotated[int | None, Query(ge=0, lt=2**53)] = None
    ) -> schemas.FreshStory:
        """A story of a task that nobody has read before, or the one of a seed."""
        if task not in TASKS:
            raise NoTaskError(sorted(TASKS))
        seed = secrets.randbelow(2**32) if seed is None else seed
        story = generate(task, questions=30, seed=seed, split="test")[0]
        return schemas.FreshStory(task=task, seed=seed, **_story(story))

    @router.post("/stories/parse", tags=["stories"])
    def parse_story(body: schemas.ParseIn) -> schemas.StoryOut:
        """Cut text into sentences and questions; lines of bAbI files are understood."""
        check_length(service, body.text)
        stories = parse_plain(body.text)
        if len(stories) > 1:
            raise ClientError(f"this text holds {len(stories)} stories; send one at a time")
        return schemas.StoryOut(**_story(stories[0] if stories else Story((), ())))

    return router


def about_sessions(service: Service) -> APIRouter:
    """Sessions: a story being read."""
    router = APIRouter(prefix="/sessions", responses=PROBLEMS, tags=["sessions"])
    sessions, metrics = service.sessions, service.metrics

    @router.post("", status_code=201)
    def start(body: schemas.SessionIn) -> schemas.SessionOut:
        """Start reading: from nothing, from a text, or from a snapshot."""
        snapshot = body.snapshot
        if snapshot and body.model not in (None, snapshot.model):
            raise ClientError(f"the snapshot is of the network {snapshot.model!r}; leave out model")
        if snapshot and body.text is not None:
            raise ClientError("give text or a snapshot, not both")
        name = snapshot.model if snapshot else body.model or service.library.default
        session = sessions.create(name, service.library.load(name))
        if snapshot:
            session.restore(snapshot.state, snapshot.sentences)
        elif body.text is not None:
            check_length(service, body.text)
            metrics.sentences.inc(len(session.read(body.text)))
        sessions.keep(session)
        metrics.started.inc()
        return _session(session, service)

    @router.get("/{session_id}")
    def show(session_id: str) -> schemas.SessionOut:
        """The session, with the sentences it has read."""
        session = sessions.get(session_id)
        with session.lock:
            return _session(session, service)

    @router.delete("/{session_id}", status_code=204)
    def end(session_id: str) -> Response:
        """Forget the session."""
        sessions.delete(session_id)
        return Response(status_code=204)

    @router.post("/{session_id}/read")
    def read(session_id: str, body: schemas.ReadIn) -> schemas.ReadOut:
        """Read a text: all of its sentences, or none if one cannot be read."""
        check_length(service, body.text)
        session = sessions.get(session_id)
        with session.lock:
            done = session.read(body.text)
            total = len(session.sentences)
        metrics.sentences.inc(len(done))
        return schemas.ReadOut(sentences_read=total, read=[_sentence(item) for item in done])

    @router.post("/{session_id}/ask")
    def ask(session_id: str, body: schemas.AskIn) -> schemas.AnswerOut:
        """Ask; the memory stays as it is."""
        check_length(service, body.question)
        session = sessions.get(session_id)
        with session.lock:
            answer = session.ask(body.question, body.after, body.alternatives)
            after = len(session.sentences) if body.after is None else body.after
        metrics.questions.inc()
        return schemas.AnswerOut(**answer_dict(answer), after=after)

    @router.get("/{session_id}/slots")
    def slots(session_id: str, after: After = None, words: Words = 3) -> schemas.SlotsOut:
        """What every slot holds, in words."""
        session = sessions.get(session_id)
        with session.lock:
            held = session.slots(after, words)
            now = len(session.sentences) if after is None else after
        return schemas.SlotsOut(after=now, slots=[_slot(content) for content in held])

    @router.get("/{session_id}/trace")
    def trace(session_id: str, words: Words = 3) -> schemas.TraceOut:
        """Everything that happened, sentence by sentence: gates, movement, words."""
        session = sessions.get(session_id)
        with session.lock:
            return schemas.TraceOut(**session.trace(words).to_dict())

    @router.post("/{session_id}/undo")
    def undo(session_id: str, body: schemas.UndoIn) -> schemas.SessionOut:
        """Take back the last sentences."""
        session = sessions.get(session_id)
        with session.lock:
            session.undo(body.sentences)
            return _session(session, service)

    @router.post("/{session_id}/reset")
    def reset(session_id: str) -> schemas.SessionOut:
        """Forget the story; the session goes on."""
        session = sessions.get(session_id)
        with session.lock:
            session.reset()
            return _session(session, service)

    @router.get("/{session_id}/snapshot")
    def snapshot(session_id: str) -> schemas.SnapshotOut:
        """The session as a value, to be kept anywhere and restored later, here or elsewhere."""
        session = sessions.get(session_id)
        with session.lock:
            return schemas.SnapshotOut(
                model=session.model_name,
                sentences=list(session.sentences),
                state=session.state(),
            )

    @router.post("/{session_id}/restore")
    def restore(session_id: str, body: schemas.SnapshotOut) -> schemas.SessionOut:
        """Go back to a snapshot of the same network."""
        session = sessions.get(session_id)
        if body.model != session.model_name:
            raise ClientError(f"the snapshot is of another network; this is {session.model_name!r}")
        with session.lock:
            session.restore(body.state, body.sentences)
            return _session(session, service)

    return router


def check_length(service: Service, text: str) -> None:
    limit = service.settings.max_text_characters
    if len(text) > limit:
        raise ClientError(
            f"a text of {len(text):,} characters; at most {limit:,} are read at a time"
        )


def describe(service: Service, name: str) -> dict[str, Any]:
    model = service.library.load(name)
    config, offer = model.config, service.library.offers[name]
    return {
        "name": name,
        "title": offer.title,
        "task": offer.task,
        "test_error": offer.test_error,
        "slots": config.slots,
        "width": config.width,
        "words": len(model.vocab) - 1,
        "longest_sentence": config.sentence_length,
        "keys": config.keys,
        "parameters": model.parameter_count(),
    }


def _session(session: Session, service: Service) -> schemas.SessionOut:
    return schemas.SessionOut(
        id=session.id,
        model=session.model_name,
        sentences=list(session.sentences),
        idle_seconds=service.settings.session_seconds,
    )


def _sentence(read: SentenceRead) -> schemas.SentenceOut:
    return schemas.SentenceOut(
        sentence=read.sentence,
        gates=rounded(read.gates),
        movement=rounded(read.movement),
        unknown=list(read.unknown),
    )


def _slot(content: SlotContent) -> schemas.SlotOut:
    return schemas.SlotOut(
        slot=content.slot,
        key=content.key,
        follows=[schemas.Near(**near) for near in near_dicts(content.follows)],
        words=[schemas.Near(**near) for near in near_dicts(content.words)],
    )


def _story(story: Story) -> dict[str, Any]:
    questions = [
        schemas.QuestionOut(
            after=question.after,
            question=question.text,
            answer=question.answer,
            supports=list(question.supports),
        )
        for question in story.questions
    ]
    return {"sentences": list(story.sentences), "questions": questions}
