"""The routes of a session over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import JSONResponse, Response

from cloud_api.http.schemas import BlockBody, OpenBody
from cloud_api.sessions.service import Service
from decoding_core import wire_json

router = APIRouter(prefix="/v1/sessions")


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


ServiceNeeded = Annotated[Service, Depends(_service)]


@router.post("", status_code=201)
async def open_session(body: OpenBody, service: ServiceNeeded) -> dict[str, Any]:
    """Begin a text."""
    request = wire_json.open_from_json(body.model_dump(exclude={"version"}))
    return wire_json.opened_to_json(service.open(request))


@router.post("/{session_id}/verify")
async def verify(
    session_id: str, body: BlockBody, service: ServiceNeeded
) -> JSONResponse:
    """Judge one block: the JSON twin of a frame."""
    block = wire_json.block_from_json(body.model_dump())
    answer = await service.verify(session_id, block)
    return JSONResponse(wire_json.answer_to_json(answer, len(block.drafted)))


@router.delete("/{session_id}", status_code=204)
async def close_session(session_id: str, service: ServiceNeeded) -> Response:
    """End a text and forget it."""
    service.close(session_id)
    return Response(status_code=204)
