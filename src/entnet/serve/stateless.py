"""Verbs that keep nothing: a story comes in as a snapshot and goes out as one.

Any number of services with the same networks can take turns at a story, and each may end at any moment.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from entnet.serve import schemas
from entnet.serve.service import Service, snapshot_value


def add_stateless(router: APIRouter, service: Service) -> None:
    @router.post("/tell", tags=["stateless"], response_model=schemas.StatelessOut)
    async def tell(body: schemas.StatelessIn) -> dict[str, Any]:
        """Go on with a story, or begin one: read sentences, answer questions, give the story back."""
        session = await service.new_session(body.model, body.snapshot)
        told = await service.tell(session, body.text, body.alternatives)
        return {**told, "snapshot": snapshot_value(session)}
