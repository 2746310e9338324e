"""Lines of a message that an earlier one of its thread holds: quotes without a mark."""

from collections.abc import Sequence

from personal_store.text.wording import normalised

_LONG = 18
"""Letters of a line that is a quote when it stands in the parent alone."""
_RUN = 40
"""Letters of a run of lines, one of them long, that are a quote together."""


def drop_repeated(lines: list[str], parents: Sequence[str]) -> list[str]:
    """The lines without runs that a parent holds word for word.

    A short line, such as a greeting, only goes inside a run of others.
    """
    theirs = {normalised(line) for text in parents for line in text.splitlines()}
    whole = " ".join(normalised(text) for text in parents)
    words = [normalised(line) for line in lines]
    quoted = [
        bool(w) and (w in theirs or (len(w) >= _LONG and w in whole)) for w in words
    ]
    kept: list[str] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and (quoted[end] or (end > start and not words[end])):
            end += 1
        run = [w for w in words[start:end] if w]
        if not any(len(w) >= _LONG for w in run) or sum(map(len, run)) < _RUN:
            end = max(end, start + 1)
            kept += lines[start:end]
        start = max(end, start + 1)
    return kept
