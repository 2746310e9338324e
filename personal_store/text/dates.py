"""Dates as exports write them, to seconds since 1970."""

import calendar
import re
from datetime import UTC, datetime
from typing import Any

_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y")
_FORMATS = (
    *(day + time for day in _DAYS for time in ("", " %H:%M", " %H:%M:%S")),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
    *("%a %b %d %H:%M:%S %z %Y", "%a, %d %b %Y %H:%M:%S %z"),
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_LONGEST_NUMBER = 40  # characters; a longer one would be infinite as a float
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
    for form in ("", *_FORMATS):
        try:
            moment = (
                datetime.strptime(text, form) if form else datetime.fromisoformat(text)
            )
        except ValueError:
            continue
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp()) if moment.year in _YEARS else None
    return None
