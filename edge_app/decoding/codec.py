"""Events, and other dataclasses, as JSON and back: for tapes, journals and the ledger.

A value that is read is of the kind that its field names, whoever wrote the line.
"""

from __future__ import annotations

import base64
import json
import typing
from collections.abc import Callable
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from edge_app.decoding.events import Event

_T = TypeVar("_T")
_KINDS = {kind.__name__: kind for kind in get_args(Event)}


def to_json(event: Event, **more: Any) -> str:
    """One line of JSON with the event's name under `event`, behind `more` fields."""
    return dumped({**more, "event": type(event).__name__, **asdict(event)})


def event_from(body: dict[str, Any]) -> Event:
    """The event that `to_json` wrote; raises ValueError for any other object."""
    name = body.pop("event", None)
    if not isinstance(name, str) or name not in _KINDS:
        raise ValueError(f"no such event: {name}")
    event: Event = decoded(_KINDS[name], body)
    return event


def dumped(body: dict[str, Any]) -> str:
    """An object as a line of ASCII, so that half a surrogate pair comes back too."""
    return json.dumps(body, default=_plain)


def decoded(kind: type[_T], body: object) -> _T:
    """The value of `kind` in what JSON gave; raises ValueError if it holds none."""
    return typing.cast(_T, _decoder(typing.cast(Any, kind))(body))


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


@cache
def _decoder(kind: Any) -> Callable[[Any], Any]:
    """What makes a value of `kind`, made once for each."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in (int, str, bool, NoneType):
        return lambda value: value if type(value) is kind else _wrong(value, kind)
    if kind is float:
        return _number
    if kind is bytes:
        return _bytes
    if origin is Literal:
        return lambda value: value if value in arguments else _wrong(value, kind)
    if origin in (Union, UnionType):
        return _any_of([_decoder(one) for one in arguments])
    if origin is dict:
        key, item = map(_decoder, arguments)
        return lambda value: {
            key(name): item(one) for name, one in _of(value, dict).items()
        }
    if origin is frozenset or (origin is tuple and arguments[-1] is Ellipsis):
        item = _decoder(arguments[0])
        return lambda value: origin(map(item, _of(value, list)))
    if origin is tuple:
        items = [_decoder(one) for one in arguments]
        return lambda value: tuple(
            item(one) for item, one in zip(items, _of(value, list), strict=True)
        )
    if is_dataclass(kind):
        return _fields_of(kind)
    return lambda value: _wrong(value, kind)  # nothing that JSON could give


def _fields_of(kind: Any) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(kind)
    known = {one.name: _decoder(hints[one.name]) for one in fields(kind)}
    needed = {
        one.name
        for one in fields(kind)
        if one.default is MISSING and one.default_factory is MISSING
    }

    def make(value: Any) -> Any:
        body = _of(value, dict)
        if not needed <= body.keys() <= known.keys():
            _wrong(value, kind)
        return kind(**{name: known[name](one) for name, one in body.items()})

    return make


def _any_of(decoders: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def make(value: Any) -> Any:
        for decode in decoders:
            try:
                return decode(value)
            except ValueError:
                continue
        return _wrong(value, Union)

    return make


def _number(value: Any) -> float:
    try:
        return float(value) if type(value) in (int, float) else _wrong(value, float)
    except OverflowError as error:
        raise ValueError("a number without end") from error


def _bytes(value: Any) -> bytes:
    return base64.b64decode(_of(value, str), validate=True)


def _of(value: Any, kind: type) -> Any:
    return value if isinstance(value, kind) else _wrong(value, kind)


def _wrong(value: Any, kind: Any) -> Any:
    raise ValueError(f"{type(value).__name__} is no {kind}")
