"""The certificate that the server shows: its own, made once, or one from given files.

Devices that were paired take the certificate that they saw then and no other, so it
need not be signed by anybody, name the server's addresses or ever expire.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import ssl
from datetime import UTC, datetime
from pathlib import Path

from base.owner_only import create
from cloud_api.errors import ServerError

_NAME = "SpecSteer household server"


def make_certificate() -> tuple[str, str]:
    """A new key, on the curve P-256, and a certificate over it, both as PEM; and its
    fingerprint."""
    # It loads OpenSSL anew; most starts find a certificate that is there.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    # Each one has a name of its own: OpenSSL looks for an anchor by the name, and
    # says of another server's then that it is another, not that its signature is bad.
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, f"{_NAME} {secrets.token_hex(8)}")]
    )
    # A device whose clock is wrong must be able to connect, and one that was paired
    # long ago. RFC 5280 has this last second for "no end".
    begin = datetime(2000, 1, 1, tzinfo=UTC)
    end = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        # The anchor of whoever trusts it, and of no other certificate.
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    secret = key.private_bytes(
        encoding,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem = (secret + certificate.public_bytes(encoding)).decode()
    return pem, fingerprint_of(pem)


def context_of_pem(pem: str, folder: Path) -> ssl.SSLContext:
    """A server's TLS settings with this key and certificate. They pass through a file
    in `folder`, as Python can load them from nowhere else."""
    passing = folder / f"certificate.{secrets.token_hex(4)}.part"
    try:
        with create(passing) as file:
            file.write(pem.encode())
        return context_of_files(passing, None)
    finally:
        passing.unlink(missing_ok=True)


def context_of_files(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """A server's TLS settings with the certificate, and those that it was signed with,
    of one PEM file and the key of another, or of the same; raises ServerError."""
    for path in filter(None, (certificate, key)):
        if not os.access(path, os.R_OK):
            raise ServerError(f"{path} cannot be read")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # A key with a passphrase would be asked for on a terminal that is not there.
        context.load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, OSError) as error:
        raise ServerError(
            f"{certificate} and {key or 'what else it holds'} are no certificate and "
            "its key as PEM, without a passphrase"
        ) from error
    return context


def fingerprint_of(pem: str) -> str:
    """The SHA-256 of the public key in the first certificate of a PEM text, as 64
    hexadecimal digits; raises ServerError where there is none."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    begin = pem.find("-----BEGIN CERTIFICATE-----")
    try:
        certificate = x509.load_pem_x509_certificate(pem[max(begin, 0) :].encode())
    except ValueError as error:
        raise ServerError("there is no certificate in the file") from error
    info = certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(info).hexdigest()
