"""Signing in to mail by the device code flow (RFC 8628), and tokens made anew.

The person enters a code in a browser, on whatever device, and this one asks until that
is done. No password passes through here. Why no library does it: ADR 38.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from decoding_core.errors import DecodingError, InvalidSettingsError
from decoding_core.foreign_text import one_line
from edge_app.transport import is_this_machine
from edge_app.transport.client import post_form
from personal_store.errors import SourceError

MICROSOFT = "https://login.microsoftonline.com/common"
"""Gives tokens for accounts of any organisation, and for personal ones."""
_SCOPE = "https://outlook.office.com/IMAP.AccessAsUser.All offline_access"
_DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
_LEAST_INTERVAL, _MOST_INTERVAL = 1.0, 60.0  # seconds, whatever a server says
_SLOWER = 5.0  # seconds more that `slow_down` asks for
_LONGEST_WAIT = 3600.0
_MOST_AWAY = 3  # questions in succession without an answer
_EARLY = 60.0  # seconds before its end from which a token is not used any more
_LONGEST = 16 << 10  # characters of a token
_DETAIL = 200  # characters shown of a server's reason
_DENIED = "was told in the browser not to let this program in: run the same command "
_DENIED += "again to get another code"
_LATE = "got no code in time: run the same command again to get another one"
_ENDED = "lets nobody in by this sign-in: it has ended, access was taken back, or "
_ENDED += "whoever runs the account allows none. Sign in again with --sign-in {words}"
_UNKNOWN = "does not take the id in {words}: it may be mistyped, or its registration "
_UNKNOWN += "is for other accounts or allows no public client flows (docs/importing.md)"
_OTHER = "gives no token for the mail: look at --sign-in {words}, and run the same "
_OTHER += "command again"
_REFUSALS = {
    "access_denied": _DENIED,
    "authorization_declined": _DENIED,  # Microsoft's word
    "expired_token": _LATE,
    "bad_verification_code": _LATE,
    "invalid_grant": _ENDED,
    "invalid_client": _UNKNOWN,
    "unauthorized_client": _UNKNOWN,
}
"""What errors mean, as the rest of a sentence; `{words}` are those of --sign-in."""
_TRY = "and gives no token for the mail: look at your connection, and run the same "
_TRY += "command again."
_SECRET = re.compile(r"[!-~]{32,}")
"""What may be a token that a provider quotes; words are shorter."""


@dataclass(frozen=True, slots=True)
class Client:
    """A program as it is registered with a provider of tokens."""

    id: str
    provider: str  # address, with the tenant

    @property
    def host(self) -> str:
        """What errors call the provider."""
        return urlsplit(self.provider).hostname or ""

    def ask(self, path: str, **fields: str) -> tuple[int, dict[str, Any]]:
        """Post to one of the provider's two addresses; raises _AwayError."""
        url = f"{self.provider}/oauth2/v2.0/{path}"
        try:
            status, answer = post_form(url, {"client_id": self.id, **fields})
        except DecodingError as error:
            raise _AwayError(f"{error}, {_TRY}") from error
        if status >= 500:
            raise _AwayError(f"{self.host} failed with status {status}, {_TRY}")
        return status, answer


class _AwayError(SourceError):
    """The provider does not answer."""


@dataclass(frozen=True, slots=True)
class Code:
    """What the person enters, and where: foreign text."""

    address: str
    code: str
    seconds: float  # how long it is good
    interval: float  # seconds between two questions
    device: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tokens:
    """An access token, and the refresh token for the next one."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)  # empty if none came
    seconds: float  # how long the access token is good


def client_of(words: str) -> Client:
    """The client that `ID` or `ID@https://HOST/TENANT` names; raises
    InvalidSettingsError."""
    name, _, provider = words.partition("@")
    client = Client(name, (provider or MICROSOFT).rstrip("/"))
    if not re.fullmatch(r"[\w.-]{1,100}", name, re.ASCII) or not _is_safe(
        client.provider
    ):
        raise InvalidSettingsError(
            "--sign-in takes the id that you registered, or "
            f"ID@https://login.microsoftonline.com/TENANT, not '{words}'"
        )
    return client


def begin(client: Client) -> Code:
    """Ask for a code; raises SourceError."""
    status, answer = client.ask("devicecode", scope=_SCOPE)
    match answer:
        case {
            "device_code": str(device),
            "user_code": str(code),
            "verification_uri": str(address),
        } if _is_safe(address) and code.isprintable() and len(code) <= _DETAIL:
            seconds = min(_number(answer, "expires_in", 900.0), _LONGEST_WAIT)
            interval = min(_number(answer, "interval", 5.0), _MOST_INTERVAL)
            return Code(address, code, seconds, interval, device)
    raise _refusal(client, status, answer)


def wait_for(
    client: Client,
    code: Code,
    progress: Callable[[float], None],
    pause: Callable[[float], None] = time.sleep,
) -> Tokens:
    """The tokens, once the person has entered the code; `progress` gets the seconds
    waited. Raises SourceError if the person refuses or does not come, or if the
    provider is away."""
    waited, interval, away = 0.0, max(code.interval, _LEAST_INTERVAL), 0
    while waited < code.seconds:
        progress(waited)
        pause(interval)
        waited += interval
        try:
            status, answer = client.ask(
                "token", grant_type=_DEVICE_CODE, device_code=code.device
            )
        except _AwayError:
            away += 1
            if away == _MOST_AWAY:
                raise
            interval *= 2  # RFC 8628, 3.5
            continue
        away = 0
        match answer.get("error"):
            case "authorization_pending":
                pass
            case "slow_down":
                interval += _SLOWER
            case _:
                return _tokens(client, status, answer)
    raise _refusal(client, 400, {"error": "expired_token"})


class AccessTokens:
    """Access tokens of one sign-in: another when the last has ended or is refused."""

    def __init__(
        self,
        client: Client,
        refresh: str,
        keep: Callable[[str], object],
        tokens: Tokens | None = None,
    ) -> None:
        """`keep` gets each refresh token that takes the place of the one before."""
        self._client, self._refresh, self._keep = client, refresh, keep
        self._access, self._end = "", 0.0
        if tokens is not None:
            self._take(tokens)

    def __call__(self, another: bool) -> str:
        """An access token; `another`: not the last one. Raises SourceError."""
        if another or time.monotonic() > self._end:
            if not self._refresh:
                raise _refusal(self._client, 200, {"error": "invalid_grant"})
            grant = {"grant_type": "refresh_token", "refresh_token": self._refresh}
            status, answer = self._client.ask("token", scope=_SCOPE, **grant)
            self._take(_tokens(self._client, status, answer))
        return self._access

    def _take(self, tokens: Tokens) -> None:
        self._access = tokens.access
        self._end = time.monotonic() + tokens.seconds - _EARLY
        if tokens.refresh not in ("", self._refresh):
            self._refresh = tokens.refresh
            self._keep(tokens.refresh)


def _tokens(client: Client, status: int, answer: Mapping[str, Any]) -> Tokens:
    found = {"refresh_token": "", **answer}
    match found:
        case {"access_token": str(access), "refresh_token": str(refresh)}:
            # A field of SASL can hold them.
            sound = (access + refresh).isascii() and (access + refresh).isprintable()
            if access and sound and max(len(access), len(refresh)) <= _LONGEST:
                return Tokens(access, refresh, _number(answer, "expires_in", 3600.0))
    raise _refusal(client, status, answer)


def _is_safe(address: str) -> bool:
    """Whether an address is plain text, and encrypted or on this machine."""
    try:
        parts = urlsplit(address)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    plain = address.isascii() and address.isprintable() and len(address) < _DETAIL
    here = parts.scheme == "http" and is_this_machine(address)
    return named and plain and " " not in address and (parts.scheme == "https" or here)


def _number(answer: Mapping[str, Any], name: str, usual: float) -> float:
    try:
        number = float(answer.get(name, usual))
    except (TypeError, ValueError, OverflowError):
        return usual
    return number if number >= 0.0 else usual  # nor is "nan" a number


def _refusal(client: Client, status: int, answer: Mapping[str, Any]) -> SourceError:
    """The sentence for an answer without what was asked for."""
    error = str(answer.get("error", f"status {status}"))
    provider = "" if client.provider == MICROSOFT else f"@{client.provider}"
    meaning = _REFUSALS.get(error, _OTHER).format(words=client.id + provider)
    known = "" if error in _REFUSALS else error
    detail = str(answer.get("error_description", known)).partition("\n")[0]
    said = one_line(_SECRET.sub("…", detail))[:_DETAIL].strip(" .")
    ending = f" It says: {said}." if said else ""
    return SourceError(f"{client.host} {meaning}.{ending}")
