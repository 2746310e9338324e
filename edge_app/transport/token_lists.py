"""Tokens of large models with a vocabulary of their own, kept for the next start.

A file is named by the hash of what it holds, so that no server can give another's model
other tokens, and a damaged file is as good as none.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from base.owner_only import make_folder, write_whole
from decoding_core.byte_space import ByteVocabulary
from decoding_core.wire_json import tokens_from_bytes, tokens_id

_MOST_FILES = 8
_ID = re.compile("[0-9a-f]{64}")  # it becomes the name of a file


class TokenLists:
    """The files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, tokens: str) -> ByteVocabulary | None:
        """The vocabulary of this id; None if it is not kept, or not as it was."""
        with suppress(OSError, ValueError):
            path = self._path(tokens)
            data = path.read_bytes()
            if tokens_id(data) == tokens:
                path.touch()  # the one that was used last goes last
                return ByteVocabulary(*tokens_from_bytes(data))
        return None

    def keep(self, data: bytes) -> None:
        """Keep a vocabulary of `tokens_to_bytes`, and let go of those that were not
        used for longest; without room it is asked for again at the next start."""
        with suppress(OSError):
            make_folder(self._folder)
            write_whole(self._path(tokens_id(data)), data)
            files = [one for one in self._folder.iterdir() if _ID.fullmatch(one.name)]
            files.sort(key=lambda one: one.stat().st_mtime, reverse=True)
            for old in files[_MOST_FILES:]:
                old.unlink()

    def drop(self, tokens: str) -> None:
        """Let go of a vocabulary whose server turned out to be faulty."""
        with suppress(OSError, ValueError):
            self._path(tokens).unlink()

    def _path(self, tokens: str) -> Path:
        if not _ID.fullmatch(tokens):
            raise ValueError("no id")
        return self._folder / tokens
