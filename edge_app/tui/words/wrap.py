"""Breaking words into rows of a width; pure, so that it can be checked by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import get_character_cell_size

Place = tuple[int, int]
"""A word's number and an offset into it."""


def rows_after(texts: Sequence[str], start: Place, width: int) -> list[Place]:
    """Where the rows after the one that opens at `start` begin.

    A row breaks behind its last space, or anywhere in a word longer than the row;
    spaces may hang over its end.
    """
    starts: list[Place] = []
    column = 0
    space: tuple[int, int, int] | None = None  # where the row may break, its column
    for word, offset, char in _letters(texts, start):
        size = 0 if char == "\n" else get_character_cell_size(char)
        column += size
        if char == "\n":
            starts.append((word, offset + 1))
            column, space = 0, None
        elif char == " ":
            space = (word, offset + 1, column)
        elif column > width:
            if space is not None:
                starts.append(space[:2])
                column, space = column - space[2], None
            if column > width:  # a word longer than the row
                starts.append((word, offset))
                column = size
    return starts


def row_to_wrap(texts: Sequence[str], starts: Sequence[Place], row: int) -> int:
    """The row from which to wrap when the text changes in `row`.

    A word cut short may fit on the row before the one it began in.
    """
    while row > 0 and not _after_space(texts, starts[row]):
        row -= 1
    return max(0, row - 1)


def _after_space(texts: Sequence[str], place: Place) -> bool:
    word, offset = place
    before = texts[word][:offset] if offset else ""
    while not before and word > 0:
        word -= 1
        before = texts[word]
    return not before or before[-1] in " \n"


def _letters(texts: Sequence[str], start: Place) -> Iterator[tuple[int, int, str]]:
    first, offset = start
    for word in range(first, len(texts)):
        for at in range(offset, len(texts[word])):
            yield word, at, texts[word][at]
        offset = 0
