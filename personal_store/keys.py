"""The key of an encrypted store: from the environment, the keyring, or the person.

The keyring may hold other keys for a store, under a name each.
"""

import importlib
import os
import secrets
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from base.extras import how_to_add
from personal_store.errors import StoreError, StoreLockedError

VARIABLE = "SPECSTEER_STORE_KEY"  # environment variable that holds the passphrase
_SERVICE = "specsteer"
_KEYRING = ("keyring", "keyring.errors")

ask: Callable[[str], str] | None = None
"""Asks the person for a passphrase; set by a program that has a terminal."""

_known: dict[str, str] = {}


def cipher() -> Any:
    """The SQLCipher library; raises StoreError if the extra is missing."""
    try:
        library = importlib.import_module("sqlcipher3.dbapi2")
    except ImportError as error:
        raise StoreError(_missing()) from error
    # Keep SQLCipher from writing to the terminal what is wrong with a key: it raises an
    # error as well. The setting is that of the process.
    with closing(library.connect(":memory:")) as connection:
        connection.execute("PRAGMA cipher_log_level = NONE")
    return library


def known(path: Path) -> str | None:
    """The key that opened this store before in this process."""
    return _known.get(str(path.resolve()))


def remember(path: Path, key: str | None) -> None:
    """Keep a key that fits while this process lives; None for a plain store."""
    if key is None:
        _known.pop(str(path.resolve()), None)
    else:
        _known[str(path.resolve())] = key


def find(path: Path) -> str:
    """A key to try; raises StoreLockedError if there is nowhere to get one from."""
    key = os.environ.get(VARIABLE) or in_keyring(path)
    if not key and ask is not None:
        key = ask(f"Passphrase of {path}")
    if not key:
        raise StoreLockedError(
            f"The store {path} cannot be opened: it is encrypted, or it is no store. "
            f"If it is encrypted, give its passphrase in {VARIABLE}."
        )
    return key


def fresh() -> str:
    """A random key of 256 bits, as SQLCipher takes raw keys."""
    return f"x'{secrets.token_hex(32)}'"


def pragma(key: str) -> str:
    """The statement that gives SQLCipher a key."""
    return "PRAGMA key = '" + key.replace("'", "''") + "'"


def in_keyring(path: Path, name: str = "") -> str:
    """The key that the system's keyring holds for this store; empty if none."""
    try:
        keyring, errors = map(importlib.import_module, _KEYRING)
    except ImportError:
        return ""
    try:
        return str(keyring.get_password(_SERVICE, _account(path, name)) or "")
    except (errors.KeyringError, RuntimeError):
        return ""  # none, locked, or refused by the person: there are other ways


def put_in_keyring(path: Path, key: str, name: str = "") -> None:
    """Have the system's keyring hold the key; raises StoreError if it cannot."""
    try:
        keyring, errors = map(importlib.import_module, _KEYRING)
    except ImportError as error:
        raise StoreError(_missing()) from error
    try:
        keyring.set_password(_SERVICE, _account(path, name), key)
    except (errors.KeyringError, RuntimeError) as error:
        raise StoreError(
            "There is no keyring that could hold the key here: use a passphrase."
        ) from error


def forget_in_keyring(path: Path, name: str = "") -> None:
    """Have the keyring hold this key of the store no longer."""
    if in_keyring(path, name):
        keyring = importlib.import_module("keyring")
        keyring.delete_password(_SERVICE, _account(path, name))


def _account(path: Path, name: str) -> str:
    return f"{path.resolve()} {name}".rstrip()


def _missing() -> str:
    return f"An encrypted store needs more libraries: {how_to_add('encryption')}"
