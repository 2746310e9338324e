"""How many words each text has, in blocks of neighbouring record numbers.

NAME_length holds a row for each block of the texts of a name. A search wants the
lengths of all texts, and finds them here without reading the texts.
"""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

_BLOCK_BITS = 12
_BLOCK = 1 << _BLOCK_BITS
_LENGTH = np.dtype("<u4")
_SET = """
    INSERT INTO {}_length VALUES (?, ?) ON CONFLICT(block)
    DO UPDATE SET lengths = excluded.lengths
"""


def split(record_id: int) -> tuple[int, int]:
    """Block and place of a record."""
    return record_id >> _BLOCK_BITS, record_id & (_BLOCK - 1)


def first_of(block: NDArray[np.int64]) -> NDArray[np.int64]:
    """The record numbers at which blocks begin (N,)."""
    return block << _BLOCK_BITS


def read_lengths(db: Database, name: str) -> NDArray[np.uint32]:
    """The length of every text by its record number (highest + 1,); 0 without one."""
    rows = db.execute(f"SELECT block, lengths FROM {name}_length ORDER BY block")  # noqa: S608
    blocks = {block: np.frombuffer(lengths, _LENGTH) for block, lengths in rows}
    if not blocks:
        return np.zeros(0, np.uint32)
    last = max(blocks)
    every = np.zeros(last * _BLOCK + len(blocks[last]), np.uint32)
    for block, lengths in blocks.items():
        start = block * _BLOCK
        every[start : start + len(lengths)] = lengths
    return every


def write_lengths(db: Database, name: str, lengths: Mapping[int, int]) -> None:
    """Set the lengths of texts by their record numbers; 0 where there is none now."""
    blocks: dict[int, dict[int, int]] = defaultdict(dict)
    for record_id, length in lengths.items():
        block, place = split(record_id)
        blocks[block][place] = length
    for block, changed in blocks.items():
        _write_block(db, name, block, changed)


def _write_block(
    db: Database, name: str, block: int, changed: Mapping[int, int]
) -> None:
    row = db.execute(
        f"SELECT lengths FROM {name}_length WHERE block = ?",  # noqa: S608
        [block],
    ).fetchone()
    known = np.frombuffer(row[0] if row else b"", _LENGTH)
    lengths = np.zeros(_BLOCK, _LENGTH)
    lengths[: len(known)] = known
    lengths[list(changed)] = list(changed.values())
    kept = np.trim_zeros(lengths, "b")
    if len(kept):
        db.execute(_SET.format(name), [block, kept.tobytes()])
    else:
        db.execute(f"DELETE FROM {name}_length WHERE block = ?", [block])  # noqa: S608
