"""Sign-ins to mail accounts, in one file beside the store that is always sealed.

Its key is a random one in the system's keyring, else the store's. Without either,
nothing is kept, and a sign-in lasts for one import. Access tokens are never kept.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from base.owner_only import shred
from edge_app.config.sealed import DamagedSealError, Seal, closed, key_of, replace_file
from personal_store import keys
from personal_store.errors import StoreError

NAME = "mail-sign-ins"  # of the file, and of its key in the keyring
_WHAT = "file of mail sign-ins"  # what the file is called in its seal


@dataclass(frozen=True, slots=True)
class SignIn:
    """An account that the person has signed in to."""

    server: str  # of the mail
    user: str
    client: str  # id of the registered program, as the provider knows it
    provider: str  # address at which tokens are asked for
    token: str = field(repr=False)  # the refresh token


def find(store: Path, server: str, user: str) -> SignIn | None:
    """The sign-in to an account; raises DamagedSealError and StoreLockedError."""
    return _read(store).get((server, user))


def keep(store: Path, sign_in: SignIn) -> bool:
    """Keep a sign-in in place of an earlier one to the same account; false if there is
    no key to seal it with, and so nothing was written."""
    every = dict[tuple[str, str], SignIn]()
    with suppress(DamagedSealError):  # nothing in it can be used any more
        every = _read(store)
    every[sign_in.server, sign_in.user] = sign_in
    key = _keyring_key(store) or key_of(store)
    if key is not None:
        _write(store, every, key)
    return key is not None


def forget(store: Path, server: str, user: str) -> bool:
    """Delete the sign-in to an account; whether there was one. A damaged file goes."""
    try:
        every = _read(store)
    except DamagedSealError:
        forget_all(store)
        return True
    found = every.pop((server, user), None)
    if not every:
        forget_all(store)
    elif found is not None:
        _write(store, every, _key(store))
    return found is not None


def forget_all(store: Path) -> None:
    """Overwrite and delete the file, and take its key out of the keyring."""
    path = store.with_name(NAME)
    if path.is_file():  # a keyring that is locked asks the person
        shred(path)
        keys.forget_in_keyring(store, NAME)


def _keyring_key(store: Path) -> str:
    """The key in the keyring, made if it is missing; empty if none can be kept."""
    if not keys.in_keyring(store, NAME):
        with suppress(StoreError):
            keys.put_in_keyring(store, keys.fresh(), NAME)
    return keys.in_keyring(store, NAME)  # a keyring may take one and keep it nowhere


def _key(store: Path) -> str:
    return keys.in_keyring(store, NAME) or key_of(store) or ""


def _read(store: Path) -> dict[tuple[str, str], SignIn]:
    path = store.with_name(NAME)
    if not path.is_file():
        return {}
    try:
        line = path.read_text("ascii", "replace")
        data = Seal(_key(store)).opened(line, _WHAT)
    except DamagedSealError as error:
        raise DamagedSealError(f"{error} Sign in again, with --sign-in.") from error
    every = (SignIn(**one) for one in json.loads(data))
    return {(one.server, one.user): one for one in every}


def _write(store: Path, every: dict[tuple[str, str], SignIn], key: str) -> None:
    data = json.dumps([asdict(one) for one in every.values()]).encode()
    replace_file(store.with_name(NAME), closed(data, _WHAT, key))
