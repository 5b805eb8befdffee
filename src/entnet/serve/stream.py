"""A WebSocket on which a story is told and answers come as they arise."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json

from entnet.data.plain import is_question, split_sentences
from entnet.errors import EntNetError
from entnet.serve import schemas
from entnet.serve.lean import parsed
from entnet.serve.problems import ClientError, shortened
from entnet.serve.service import Service, answer_value, sentence_value
from entnet.tracker import TextError

_TRY_AGAIN = 1013
_GOODBYE = 1000


def add_stream(router: APIRouter, service: Service) -> None:
    open_streams: Counter[str] = Counter()

    @router.websocket("/sessions/{session_id}/stream")
    async def stream(socket: WebSocket, session_id: str) -> None:
        """Each message is as the body of ``tell``; each sentence and question is answered by a message."""
        client = socket.scope.get("entnet.client", "")
        await socket.accept()
        if open_streams[client] >= service.settings.max_sessions_per_client:
            await socket.close(_TRY_AGAIN, "too many streams are open")
            return
        open_streams[client] += 1
        try:
            while True:
                idle = service.settings.session_seconds
                text = await asyncio.wait_for(socket.receive_text(), idle)
                await _answer(service, session_id, socket, text)
        except (WebSocketDisconnect, RuntimeError):
            return  # the client went, perhaps while it was being answered
        except TimeoutError:
            await socket.close(_GOODBYE, "idle too long")
        finally:
            open_streams[client] -= 1
            if not open_streams[client]:
                del open_streams[client]


async def _answer(service: Service, session_id: str, socket: WebSocket, text: str) -> None:
    try:
        body = parsed(schemas.TellIn, text)
        service.check_length(body.text)
        pieces = split_sentences(body.text)
        if not pieces:
            raise TextError("nothing to read: the text has no sentence in it")
        async for piece in service.work.slices(pieces):
            value = await _piece(service, session_id, piece, body.alternatives)
            await socket.send_text(to_json(value, inf_nan_mode="null").decode())
    except RequestValidationError as error:
        await _problem(socket, 422, "; ".join(str(item["msg"]) for item in error.errors()[:5]))
    except EntNetError as error:
        status = error.status if isinstance(error, ClientError) else 422
        await _problem(socket, status, str(error))


async def _piece(
    service: Service, session_id: str, piece: str, alternatives: int
) -> dict[str, Any]:
    session = service.sessions.get(session_id)
    async with session.lock:
        if is_question(piece):
            answer = await session.ask(piece, None, alternatives)
            service.metrics.questions.inc()
            return {"answer": answer_value(answer, len(session.sentences))}
        (read,) = await session.read_sentences([piece])
        service.metrics.sentences.inc()
        return {"read": sentence_value(read), "sentences_read": len(session.sentences)}


async def _problem(socket: WebSocket, status: int, message: str) -> None:
    """What was wrong ends the message, not the stream; sentences before it have been read."""
    await socket.send_json({"detail": shortened(message, 2000), "status": status})
