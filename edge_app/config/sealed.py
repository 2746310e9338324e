"""Files beside the store that are kept under its key if it has one.

An encrypted store keeps past texts from whoever has the disk, and the files beside it
quote them. So the ledger, kept drafts and the settings are sealed with
AES-256-GCM under a key that scrypt derives from the store's. Beside a plain store they
are plain.

A sealed piece is one line: a mark, the salt, and nonce with ciphertext, in base64. Its
purpose is authenticated with it, so that no piece can take another's place.
"""

from __future__ import annotations

import base64
import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from base.owner_only import part_of, put_in_place, shred, write_whole
from personal_store import keys
from personal_store.connection import connect_as_it_is
from personal_store.errors import StoreLockedError

if TYPE_CHECKING:  # most stores are plain, and need none of it
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

STORE_NAME = "store.db"  # the store in the state folder, beside which all the files lie
_MARK = "sealed-1"
_PLAIN_STORE = b"SQLite format 3\0"
_SALT, _NONCE = 16, 12
_MEMORY = 64 << 20
_FACTOR = 1 << 15  # of scrypt with blocks of 8: 32 MiB, 0.1 s for each guess


def is_encrypted(store: Path) -> bool:
    """Whether the file of a store is there and is no plain one."""
    try:
        with store.open("rb") as file:
            return file.read(len(_PLAIN_STORE)) not in (b"", _PLAIN_STORE)
    except OSError:
        return False


def key_of(store: Path) -> str | None:
    """The key of an encrypted store, else None; raises StoreLockedError."""
    if not is_encrypted(store):
        return None
    if keys.known(store) is None:
        connect_as_it_is(store).close()
    return keys.known(store)


class DamagedSealError(StoreLockedError):
    """A piece was sealed with another key, or changed since."""


class Seal:
    """A key that encrypts pieces of a file with AES-256-GCM, and decrypts them."""

    def __init__(self, key: str, salt: bytes | None = None) -> None:
        """With the salt that a file has already, its pieces open by one derived key."""
        self._key = key
        self._salt = _fresh_salt(key) if salt is None else salt

    def closed(self, data: bytes, what: str) -> str:
        """A piece as one line, without its end."""
        nonce = os.urandom(_NONCE)
        sealed = _cipher(self._key, self._salt).encrypt(nonce, data, what.encode())
        salt, body = map(base64.b64encode, (self._salt, nonce + sealed))
        return f"{_MARK} {salt.decode()} {body.decode()}"

    def opened(self, line: str, what: str) -> bytes:
        """The data in a sealed line; raises DamagedSealError."""
        from cryptography.exceptions import InvalidTag

        try:
            mark, salt, sealed = line.split()
            if mark != _MARK:
                raise ValueError(mark)
            data = base64.b64decode(sealed, validate=True)
            cipher = _cipher(self._key, base64.b64decode(salt, validate=True))
            return bytes(cipher.decrypt(data[:_NONCE], data[_NONCE:], what.encode()))
        except (ValueError, InvalidTag) as error:
            raise DamagedSealError(
                f"The {what} beside the store was sealed with another key, or is "
                "damaged."
            ) from error


def is_sealed(data: str | bytes) -> bool:
    """Whether a line or a file is sealed."""
    words = data if isinstance(data, str) else data[: len(_MARK) + 1].decode("latin-1")
    return words.startswith(f"{_MARK} ")


def salt_of(line: str) -> bytes | None:
    """The salt of a sealed line; None of any other."""
    try:
        return base64.b64decode(line.split()[1], validate=True)
    except (ValueError, IndexError):
        return None


def read_file(path: Path, what: str, store: Path) -> bytes:
    """The data of a file, sealed or not; raises OSError and StoreLockedError."""
    data = path.read_bytes()
    if not is_sealed(data):
        return data
    key = key_of(store) or keys.find(store)
    return Seal(key).opened(data.decode("ascii", "replace"), what)


def write_file(path: Path, data: bytes, what: str, store: Path) -> None:
    """Replace a private file, sealed as the store; raises OSError, StoreLockedError."""
    write_whole(path, closed(data, what, key_of(store)))


def closed(data: bytes, what: str, key: str | None) -> bytes:
    """The data of a file sealed with this key; plain without one."""
    return data if key is None else f"{Seal(key).closed(data, what)}\n".encode()


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file, and overwrite the old one."""
    part = part_of(path)
    try:
        part.write_bytes(data)
        put_in_place(part, path)
    finally:
        shred(part)


@lru_cache(4)
def _fresh_salt(key: str) -> bytes:
    """One salt for all that this process seals, as each costs a derivation to open."""
    del key
    return os.urandom(_SALT)


@lru_cache(64)
def _derived(key: str, salt: bytes) -> bytes:
    return hashlib.scrypt(
        key.encode(), salt=salt, n=_FACTOR, r=8, p=1, maxmem=_MEMORY, dklen=32
    )


def _cipher(key: str, salt: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(_derived(key, salt))
