"""Pairing with a server, the device's part: see `decoding_core.pairing`.

The certificate of whoever answers is looked at before anything else is sent, and all
that follows goes to that certificate alone. The code itself is never sent.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from contextlib import suppress
from typing import Any

from decoding_core.errors import CertificateError, CloudRefusedError, MessageError
from decoding_core.pairing import (
    DEVICE,
    SERVER,
    Invitation,
    binding_of,
    device_proof,
    server_proof,
)
from edge_app.config.settings import PairedServer
from edge_app.decoding.events import Emit
from edge_app.transport.client import Connection, certificate_at

_LONGEST = 400  # characters of a token or a name
_NO_PAIRING = "the server's answer is none to a pairing"
_TRIES = "The server counts a try; after five the code is good no more"


def fingerprint_of(certificate: str) -> str:
    """SHA-256 of the public key in a certificate (PEM), in hexadecimal; raises
    CertificateError if it cannot be read."""
    # It loads OpenSSL anew, which nothing but pairing needs.
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    try:
        key = x509.load_pem_x509_certificate(certificate.encode()).public_key()
        info = key.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    except Exception as error:  # whatever the library makes of such bytes
        raise CertificateError(
            "the certificate that is shown there cannot be read, so nothing was sent"
        ) from error
    return hashlib.sha256(info).hexdigest()


def pair(
    invitation: Invitation, emit: Emit, stop: threading.Event | None = None
) -> PairedServer:
    """Have a server let this device in.

    Raises CertificateError for another certificate than the link's, before anything is
    sent, CloudRefusedError for a wrong or spent code, CloudUnreachableError,
    StoppedError.
    """
    url = invitation.url.rstrip("/")
    if not url.startswith("https://"):
        raise CloudRefusedError(
            f"{url} is no address for pairing; it begins with https://"
        )
    certificate = certificate_at(url, stop)
    seen = fingerprint_of(certificate)
    if invitation.fingerprint and seen != invitation.fingerprint:
        raise CertificateError(
            f"the certificate at {url} is not the one of the link, so nothing was "
            "sent. Look whether the address is right; else somebody else may answer"
        )
    import spake2  # pure Python, with tables that take a moment to load

    library: Any = spake2  # without types
    side = library.SPAKE2_A(invitation.code.password, idA=DEVICE, idB=SERVER)
    connection = Connection(url, "", emit, stop, certificate)
    try:
        body = {"number": invitation.code.number, "message": side.start().hex()}
        reply = connection.request("pair", "POST", "/v1/pair", body)
        exchange, theirs, proof, by_certificate = _read_reply(reply)
        try:
            key = side.finish(theirs)
        except Exception as error:  # whatever the library makes of such bytes
            raise CloudRefusedError(_not_the_server(url)) from error
        binding = binding_of(seen if by_certificate else "")
        if not hmac.compare_digest(server_proof(key, binding), proof):
            raise CloudRefusedError(_not_the_server(url))
        if not by_certificate:
            # An authority has to vouch for it; this device looks for itself.
            connection.close()
            connection = Connection(url, "", emit, stop)
            certificate = ""
        mine = device_proof(key, binding).hex()
        body = {"exchange": exchange, "proof": mine}
        answer = connection.request("pair", "POST", "/v1/pair/proof", body)
    finally:
        connection.close()
    match answer:
        case {"token": str(token), "user": str(user), "name": str(name)}:
            texts = token, user, name
            sound = all(one.isprintable() and len(one) <= _LONGEST for one in texts)
            if sound and token.isascii():  # else it could never be sent
                return PairedServer(url, token, certificate, user, name)
    raise MessageError(_NO_PAIRING)


def _read_reply(reply: dict[str, Any]) -> tuple[str, bytes, bytes, bool]:
    match reply:
        case {
            "exchange": str(exchange),
            "message": str(message),
            "proof": str(proof),
            "by_certificate": bool(known),
        }:
            with suppress(ValueError):
                return exchange, bytes.fromhex(message), bytes.fromhex(proof), known
    raise MessageError(_NO_PAIRING)


def _not_the_server(url: str) -> str:
    return (
        f"whoever answers at {url} does not know this code: it is mistyped, or that is "
        f"not your server. The code was not sent. {_TRIES}"
    )
