"""The verbs of sessions. Each is short: it finds a session, does one thing with it and says what came."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from entnet.inspection.trace import near_dicts
from entnet.serve import schemas
from entnet.serve.problems import ClientError
from entnet.serve.service import Service, sentence_value, session_value, snapshot_value
from entnet.serve.tracing import trace as trace_json
from entnet.tracker import SlotContent

Words = Annotated[int, Query(ge=1, le=20, description="Nearest words to give for each slot.")]
After = Annotated[int | None, Query(ge=0, description="As of so many sentences; none for now.")]
First = Annotated[int, Query(ge=0, description="The sentence to begin with, from 0.")]
Count = Annotated[int | None, Query(ge=0, description="So many sentences; none for all.")]


def add_sessions(router: APIRouter, service: Service) -> None:
    """Sessions: a story being read."""
    sessions = service.sessions

    @router.post("/sessions/{session_id}/read", tags=["sessions"], response_model=schemas.ReadOut)
    async def read(session_id: str, body: schemas.ReadIn) -> dict[str, Any]:
        """Read a text: all of its sentences, or none if one cannot be read."""
        session = sessions.get(session_id)
        async with session.lock:
            done = await service.read(session, body.text)
            total = len(session.sentences)
        return {"sentences_read": total, "read": [sentence_value(item) for item in done]}

    @router.post("/sessions/{session_id}/ask", tags=["sessions"], response_model=schemas.AnswerOut)
    async def ask(session_id: str, body: schemas.AskIn) -> dict[str, Any]:
        """Ask; the memory stays as it is."""
        session = sessions.get(session_id)
        async with session.lock:
            return await service.ask(session, body.question, body.after, body.alternatives)

    @router.post("/sessions/{session_id}/tell", tags=["sessions"], response_model=schemas.TellOut)
    async def tell(session_id: str, body: schemas.TellIn) -> dict[str, Any]:
        """Read sentences and answer questions in the order of a text: all of it, or nothing."""
        session = sessions.get(session_id)
        async with session.lock:
            return await service.tell(session, body.text, body.alternatives)

    @router.post("/sessions", status_code=201, tags=["sessions"], response_model=schemas.SessionOut)
    async def start(body: schemas.SessionIn, request: Request) -> dict[str, Any]:
        """Start reading: from nothing, from a text, or from a snapshot."""
        if body.snapshot and body.text is not None:
            raise ClientError("give text or a snapshot, not both")
        client = request.scope.get("entnet.client", "")
        session = await service.new_session(body.model, body.snapshot, client)
        if body.text is not None:
            await service.read(session, body.text)
        sessions.keep(session)
        service.metrics.started.inc()
        return session_value(session)

    @router.get("/sessions/{session_id}", tags=["sessions"], response_model=schemas.SessionOut)
    async def show(session_id: str) -> dict[str, Any]:
        """The session, with the sentences it has read."""
        return session_value(sessions.get(session_id))

    @router.delete("/sessions/{session_id}", status_code=204, tags=["sessions"])
    async def end(session_id: str) -> None:
        """Forget the session."""
        sessions.delete(session_id)

    @router.get("/sessions/{session_id}/slots", tags=["sessions"], response_model=schemas.SlotsOut)
    async def slots(session_id: str, after: After = None, words: Words = 3) -> dict[str, Any]:
        """What every slot holds, in words."""
        session = sessions.get(session_id)
        async with session.lock:
            held = await session.slots(after, words)
            now = len(session.sentences) if after is None else after
        return {"after": now, "slots": [_slot(content) for content in held]}

    @router.get(
        "/sessions/{session_id}/trace",
        tags=["sessions"],
        response_class=Response,
        responses={200: {"model": schemas.TraceOut, "description": "What happened."}},
    )
    async def trace(
        session_id: str, words: Words = 3, first: First = 0, count: Count = None
    ) -> Response:
        """Everything that happened, sentence by sentence: gates, movement, words."""
        text = await trace_json(sessions.get(session_id), words, first, count)
        return Response(text, media_type="application/json")

    @router.post(
        "/sessions/{session_id}/undo", tags=["sessions"], response_model=schemas.SessionOut
    )
    async def undo(session_id: str, body: schemas.UndoIn) -> dict[str, Any]:
        """Take back the last sentences."""
        session = sessions.get(session_id)
        async with session.lock:
            await session.undo(body.sentences)
            return session_value(session)

    @router.post(
        "/sessions/{session_id}/reset", tags=["sessions"], response_model=schemas.SessionOut
    )
    async def reset(session_id: str) -> dict[str, Any]:
        """Forget the story; the session goes on."""
        session = sessions.get(session_id)
        async with session.lock:
            session.reset()
            return session_value(session)

    @router.get(
        "/sessions/{session_id}/snapshot", tags=["sessions"], response_model=schemas.SnapshotOut
    )
    async def snapshot(session_id: str) -> dict[str, Any]:
        """The session as a value, to be kept anywhere and restored later, here or elsewhere."""
        session = sessions.get(session_id)
        async with session.lock:
            return snapshot_value(session)

    @router.post(
        "/sessions/{session_id}/restore", tags=["sessions"], response_model=schemas.SessionOut
    )
    async def restore(session_id: str, body: schemas.SnapshotOut) -> dict[str, Any]:
        """Go back to a snapshot of the same network."""
        session = sessions.get(session_id)
        if body.model != session.model_name:
            raise ClientError(f"the snapshot is of another network; this is {session.model_name!r}")
        async with session.lock:
            session.restore(body.state, body.sentences)
            return session_value(session)


def _slot(content: SlotContent) -> dict[str, Any]:
    return {
        "slot": content.slot,
        "key": content.key,
        "follows": near_dicts(content.follows),
        "words": near_dicts(content.words),
    }
