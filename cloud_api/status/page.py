"""The page at `/`: what the server is doing, for the people of the house.

It is made here, without scripts, and asks nobody else for anything. Whoever brings a
token with the scope `status` gets a cookie for half an hour; the token itself is looked
up again each time, so one that was revoked opens nothing any more.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import RedirectResponse, Response

from cloud_api.callers import Authority, Caller, Scope
from cloud_api.connections import VISIT
from cloud_api.people.household import Household
from cloud_api.status.snapshot import status_of, up_for

COOKIE = "specsteer-status"
VISIT_SECONDS = 1800.0
PATHS = frozenset({"/", "/status.css", "/status/enter", "/status/leave"})
"""What is answered without a token: at most the form that asks for one."""
_MOST_VISITS = 32
_LONGEST_FORM = 8192
_TEMPLATES = Path(__file__).parent
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
router = APIRouter(include_in_schema=False)


@dataclass(slots=True)
class StatusVisits:
    """Who may see the page, by the hash of a cookie. Nothing is kept on a disk."""

    authority: Authority
    clock: Callable[[], float] = time.monotonic
    _tokens: OrderedDict[bytes, tuple[str, float]] = field(default_factory=OrderedDict)

    def enter(self, token: str) -> str | None:
        """A cookie in exchange for a token; None where it may not see the page."""
        if self._admitted(token) is None:
            return None
        cookie = secrets.token_urlsafe(32)
        self._tokens[_hashed(cookie)] = token, self.clock() + VISIT_SECONDS
        while len(self._tokens) > _MOST_VISITS:
            self._tokens.popitem(last=False)
        return cookie

    def caller(self, cookie: str) -> Caller | None:
        """Who shows a cookie; None where its time is over, or its token's."""
        token, end = self._tokens.get(_hashed(cookie), ("", 0.0))
        if not token or self.clock() >= end:
            self.leave(cookie)
            return None
        return self._admitted(token)

    def leave(self, cookie: str) -> None:
        """Forget a cookie."""
        self._tokens.pop(_hashed(cookie), None)

    def _admitted(self, token: str) -> Caller | None:
        caller = self.authority.caller(token)
        return caller if caller is not None and Scope.STATUS in caller.scopes else None


@router.get("/")
async def page(request: Request) -> Response:
    """The page, or the form that asks for a token."""
    visits: StatusVisits = request.app.state.visits
    caller = visits.caller(request.cookies.get(COOKIE, ""))
    if caller is None:
        return _form(request)
    visit = getattr(request.state, VISIT, None)
    if visit is not None:
        now = asyncio.get_running_loop().time()
        request.app.state.door.recognise(visit, caller.user, now)
    status = status_of(request.app.state)
    return _shown(
        "status.html",
        status=status,
        up=up_for(status),
        devices=await asyncio.to_thread(_devices, visits.authority),
    )


@router.get("/status.css")
async def style() -> Response:
    """How the page looks."""
    text = (_TEMPLATES / "status.css").read_text("utf-8")
    return Response(text, media_type="text/css", headers=_HEADERS)


@router.post("/status/enter")
async def enter(request: Request) -> Response:
    """Exchange the token of the form for a cookie."""
    if not _is_own(request):
        return _form(request, 403)
    body = await request.body()
    fields = parse_qs(body[:_LONGEST_FORM].decode("utf-8", "replace"))
    token = fields.get("token", [""])[0].strip()
    visits: StatusVisits = request.app.state.visits
    cookie = visits.enter(token) if token else None
    if cookie is None:
        visit = getattr(request.state, VISIT, None)
        place = "" if visit is None else visit.network
        await asyncio.sleep(visits.authority.refuse(token, place) if token else 0.0)
        return _form(request, 401)
    answer = RedirectResponse("/", 303, _HEADERS)
    answer.set_cookie(
        COOKIE,
        cookie,
        max_age=int(VISIT_SECONDS),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/status/leave")
async def leave(request: Request) -> Response:
    """Forget the cookie, here and in the browser."""
    visits: StatusVisits = request.app.state.visits
    if _is_own(request):
        visits.leave(request.cookies.get(COOKIE, ""))
    answer = RedirectResponse("/", 303, _HEADERS)
    answer.delete_cookie(COOKIE)
    return answer


def _is_own(request: Request) -> bool:
    """Whether a form was sent from this page, or by no browser at all."""
    return request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _form(request: Request, code: int = 200) -> Response:
    """The form that asks for a token, which says so if one was refused."""
    secure = request.url.scheme == "https"
    return _shown("enter.html", code, wrong=code != 200, secure=secure)


def _shown(name: str, code: int = 200, /, **values: Any) -> Response:
    text = _environment().get_template(name).render(**values)
    return Response(text, code, _HEADERS, "text/html")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _devices(authority: Authority) -> list[dict[str, str]]:
    """The devices of a household, for the table; none where one token is for all."""
    if not isinstance(authority, Household):
        return []
    return [
        {
            "user": one.user,
            "name": one.name,
            "used": "never"
            if one.last_used is None
            else f"{datetime.fromtimestamp(one.last_used):%Y-%m-%d %H:%M}",
        }
        for one in authority.people.devices()
    ]


def _hashed(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()
