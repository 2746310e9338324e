"""How a device and a server come to trust each other: what both must agree on.

The server's owner is shown a code, which lives for minutes, and a link that holds it
together with the server's address and the SHA-256 of the public key in its certificate
(the fingerprint, over the SubjectPublicKeyInfo). A person types the code, or opens the
link. Device and server then run SPAKE2 (RFC 9382) over the code and show each other, by
an HMAC under the key that comes of it, that they know the code *and* see the same
certificate. Whoever stands between them, or listens on the server's port, learns
nothing of the code, and may guess it once a try.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line

VERSION = 1
DEVICE, SERVER = b"specsteer device", b"specsteer server"  # the sides in SPAKE2
SCHEME = "specsteer"
SERVICE = "_specsteer._tcp.local."  # what a server is announced as, if it is
FINGERPRINT_DIGITS = 64
_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32
_LENGTH = 8
_CODE = re.compile(rf"(\d{{1,9}})-([{_LETTERS}]{{4}})-?([{_LETTERS}]{{4}})")
_LOOKALIKES = str.maketrans("OIL", "011")
_MOST_FIELDS = 16
_HEXADECIMAL = re.compile(rf"[0-9a-f]{{{FINGERPRINT_DIGITS}}}")


@dataclass(frozen=True, slots=True)
class Code:
    """A code: a number that says which one it is, and 40 random bits."""

    number: int
    secret: str

    @property
    def password(self) -> bytes:
        """What SPAKE2 is run over."""
        return f"{self.number}-{self.secret}".encode()

    def __str__(self) -> str:
        return f"{self.number}-{self.secret[:4]}-{self.secret[4:]}"


@dataclass(frozen=True, slots=True)
class Invitation:
    """What a link says, or what a person typed."""

    code: Code
    url: str  # the server's address; empty: it was not said
    fingerprint: str = ""
    """Of the server's certificate, 64 hexadecimal digits; empty: it was not said."""

    @property
    def link(self) -> str:
        """The link, as a QR code holds it too."""
        said = {"v": str(VERSION), "server": self.url, "code": str(self.code)}
        if self.fingerprint:
            said["key"] = self.fingerprint
        return f"{SCHEME}://pair?{urlencode(said)}"


def make_secret() -> str:
    """The random part of a code."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def read_code(typed: str) -> Code:
    """The code typed, 0 for O, 1 for I or L; raises InvalidSettingsError."""
    found = _CODE.fullmatch(typed.strip().upper().translate(_LOOKALIKES))
    if found is None:
        raise InvalidSettingsError(
            f"'{one_line(typed)[:80]}' is neither a code, such as 12-K7QF-3XPM, nor a "
            "link that begins with specsteer://pair; 'specsteer-cloud pair' on the "
            "server shows both"
        )
    return Code(int(found[1]), found[2] + found[3])


def read_invitation(given: str) -> Invitation:
    """What a link or a typed code says; raises InvalidSettingsError for neither."""
    if not given.strip().lower().startswith(f"{SCHEME}:"):
        return Invitation(read_code(given), "")
    try:
        parts = urlsplit(given.strip())
        found = parse_qs(parts.query, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise InvalidSettingsError("this is not a link for pairing") from error
    said = {name: values[-1] for name, values in found.items()}
    if (parts.netloc or parts.path.strip("/")) != "pair":
        raise InvalidSettingsError("this is not a link for pairing")
    if said.get("v") != str(VERSION):
        raise InvalidSettingsError(
            "the link is of another version of SpecSteer: bring device and server to "
            "the same version, and have 'specsteer-cloud pair' show another"
        )
    url, fingerprint = said.get("server", ""), said.get("key", "")
    sound = url.startswith("https://") and len(url) > len("https://")
    if not sound or (fingerprint and not _HEXADECIMAL.fullmatch(fingerprint)):
        raise InvalidSettingsError(
            "the link is incomplete: copy all of it, or type the code that stands "
            "below it"
        )
    return Invitation(read_code(said.get("code", "")), url, fingerprint)


def binding_of(fingerprint: str) -> bytes:
    """What the proofs are bound to: a fingerprint, or an authority if empty."""
    return f"certificate {fingerprint}".encode() if fingerprint else b"authority"


def server_proof(key: bytes, binding: bytes) -> bytes:
    """What shows the device that the server knows the code."""
    return hmac.digest(key, b"server " + binding, "sha256")


def device_proof(key: bytes, binding: bytes) -> bytes:
    """What shows the server that the device knows the code."""
    return hmac.digest(key, b"device " + binding, "sha256")
