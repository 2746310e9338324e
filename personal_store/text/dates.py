"""Dates as exports write them, to seconds since 1970."""

import calendar
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

_FORMATS = (
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%m/%d/%Y",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%a %b %d %H:%M:%S %z %Y",
    "%a, %d %b %Y %H:%M:%S %z",
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_LONGEST_NUMBER = 40
"""Characters; a longer one would be infinite as a float."""
_YEARS = range(1970, 2101)
_LAST = calendar.timegm((2101, 1, 1, 0, 0, 0))


def parse_date(value: Any) -> int | None:
    """Seconds since 1970, UTC; None if it is no date. Naive times count as UTC.

    Numbers are seconds, or milli-, micro- or nanoseconds if seconds would lie in
    the far future.
    """
    if value is None or isinstance(value, bool):
        return None
    text = str(value).strip()
    if 8 < len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text):
        number = float(text)
        while number >= _LAST:
            number /= 1000
        return int(number) if number >= 0 else None
    text = text.removesuffix("UTC").strip()
    for read in (datetime.fromisoformat, *map(_reader, _FORMATS)):
        try:
            moment = read(text)
        except ValueError:
            continue
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp()) if moment.year in _YEARS else None
    return None


def _reader(pattern: str) -> Callable[[str], datetime]:
    return lambda text: datetime.strptime(text, pattern)
