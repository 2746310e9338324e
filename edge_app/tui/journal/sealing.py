"""Lines that nobody reads without the store's key: ChaCha20-Poly1305 for each.

The key of a file comes from the store's passphrase by scrypt (RFC 7914) over the
folder's salt, then by HKDF over the file's name. A line carries a random nonce and is
bound to its number, so that lines cannot be changed, exchanged or moved.
"""

from __future__ import annotations

import os
from functools import cache

SALT_BYTES = 16
_NONCE_BYTES = 12


class WrongKeyError(Exception):
    """A line was sealed with another key, or is damaged."""


class Seal:
    """Seals and opens the lines of one file."""

    def __init__(self, key: str, salt: bytes, name: str) -> None:
        # Imported where a store is encrypted: it takes longer than a plain file does.
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

        info = b"specsteer draft " + name.encode()
        of_file = HKDFExpand(SHA256(), 32, info).derive(_of_folder(key, salt))
        self._cipher = ChaCha20Poly1305(of_file)

    def close(self, line: bytes, number: int) -> bytes:
        """The sealed line, nonce first."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, line, number.to_bytes(8, "big"))

    def open(self, sealed: bytes, number: int) -> bytes:
        """The line; raises WrongKeyError."""
        from cryptography.exceptions import InvalidTag

        nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, rest, number.to_bytes(8, "big"))
        except (InvalidTag, ValueError) as error:
            raise WrongKeyError from error


@cache
def _of_folder(key: str, salt: bytes) -> bytes:
    """32 bytes; slow on purpose, as a passphrase may be short."""
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return Scrypt(salt, 32, n=1 << 15, r=8, p=1).derive(key.encode())
