"""Reviews of places from Google Takeout: Reviews.json, in any of its spellings.

The file has a name in the person's language, so it is told by its fields, which are
English everywhere. What customers wrote to a business, in a file of the same name, has
a `reviewer` and is not read.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.errors import SourceError
from personal_store.files.sources import Source, locate
from personal_store.importers.formats.objects import content
from personal_store.records import Document, ImportFailure, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date

_KEY = re.compile(rb'"([^"\\\n]{1,60})"\s*:')
_SIGNS = {"reviewtextpublished", "fivestarratingpublished", "reviewtext",
          "reviewcomment", "starrating"}  # fmt: skip
_LISTS = {"features", "geometry", "location", "googlemapsurl"}
_OTHERS = {"reviewer", "document", "asin"}
"""Fields of reviews by others, of apps, of articles in a shop."""
_TEXT = ("reviewtextpublished", "reviewtext", "reviewcomment", "text", "comment")
_STARS = ("fivestarratingpublished", "starrating", "rating", "stars")
_DATE = ("date", "published", "time", "created")
_URL = ("googlemapsurl", "url")
_PLACE = ("name", "businessname", "title", "address")
_WORDS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}


def sources(path: Path) -> list[Source]:
    """The file itself, or the review files in a Takeout folder or zip."""
    return locate(path, _is_review_file, "Reviews.json")


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per place; of two reviews with the same key the last counts."""
    found = content(source)
    features = found.get("features") if isinstance(found, dict) else found
    if not isinstance(features, list):
        raise SourceError(
            f"{source.path} holds no reviews: Google's Reviews.json has a list "
            "'features'."
        )
    last = {_key(feature): index for index, feature in enumerate(features)}
    for index, feature in enumerate(features):
        position = source.size * (index + 1) // len(features)
        if position <= options.start:
            continue
        if last[_key(feature)] != index:
            yield Skipped(position, "older versions of a review")
        else:
            yield _review(feature, position, f"{source.name}, review {index + 1}")


def _is_review_file(source: Source) -> bool:
    if not source.name.lower().endswith(".json"):
        return False
    keys = {
        _plain(key.decode("utf-8", "replace")) for key in _KEY.findall(source.head())
    }
    return bool(keys & _SIGNS and keys & _LISTS) and not keys & _OTHERS


def _review(feature: Any, position: int, where: str) -> Item:
    if not isinstance(feature, dict):
        return ImportFailure(position, where, "it is not an object with fields")
    fields = _flat(feature)
    if "reviewer" in fields:
        return Skipped(position, "reviews by others")
    text = _first(fields, _TEXT)
    if text is not None and not isinstance(text, str):
        return ImportFailure(position, where, "its text is not a string")
    if not tidy(text or ""):
        return Skipped(position, "ratings without text")
    return Document(
        position=position,
        key=_key(feature),
        kind="review",
        text=tidy(text or ""),
        recipient=str(_first(fields, _PLACE) or ""),
        sent_at=parse_date(_first(fields, _DATE)),
        rating=_stars(_first(fields, _STARS)),
        cleaning=VERSION,
    )


def _key(feature: Any) -> str:
    """The place: one person writes one review of it."""
    fields = _flat(feature) if isinstance(feature, dict) else {}
    url = _first(fields, _URL)
    if url:
        return f"maps:{url}"
    place = json.dumps([fields.get("coordinates"), _first(fields, _PLACE)])
    if place == "[null, null]":
        place = json.dumps(feature, sort_keys=True, default=str)
    return "maps:" + hashlib.sha256(place.encode()).hexdigest()


def _flat(feature: Mapping[str, Any]) -> dict[str, Any]:
    """All fields of a review, nested ones too, by a spelling without case and marks."""
    properties = feature.get("properties")
    geometry = feature.get("geometry")
    found: dict[str, Any] = {}
    layers = [geometry, feature, _place(feature), properties, _place(properties)]
    for layer in layers:
        if isinstance(layer, Mapping):
            found.update({_plain(name): value for name, value in layer.items()})
    return found


def _place(layer: Any) -> Any:
    if not isinstance(layer, Mapping):
        return None
    return next((v for k, v in layer.items() if _plain(k) == "location"), None)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[n] for n in names if fields.get(n) not in (None, "")), None)


def _stars(value: Any) -> float | None:
    if isinstance(value, str):
        value = _WORDS.get(value.strip().casefold(), value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
