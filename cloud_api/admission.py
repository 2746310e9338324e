"""Who may connect to a server that is about to start, and the certificate it shows."""

from __future__ import annotations

import hashlib
import os
import secrets
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from base.owner_only import create
from cloud_api.auth import FILE_NAME, Authority, OneToken, check_token, stored_token
from cloud_api.errors import ServerError
from cloud_api.household import Household
from cloud_api.people import People

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
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
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
    hexadecimal digits; raises ServerError if there is no certificate."""
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


@dataclass(frozen=True, slots=True)
class Tls:
    """What the server shows those who come with TLS."""

    context: ssl.SSLContext
    fingerprint: str  # of its certificate
    files: tuple[Path, Path | None] | None = None
    """Where the certificate and its key were read; None: it is the server's own."""

    @property
    def stamps(self) -> list[tuple[int, int]]:
        """When each of the files was last written and how long it is, as far as they
        are there."""
        found = []
        for path in filter(None, self.files or ()):
            with suppress(OSError):
                status = path.stat()
                found.append((status.st_mtime_ns, status.st_size))
        return found

    def renewed(self) -> Tls:
        """The same with what the files hold now, which new connections are shown;
        raises ServerError if they hold no certificate and key, and changes nothing."""
        assert self.files is not None
        found = given_certificate(*self.files)
        self.context.load_cert_chain(*self.files, password="")
        return replace(self, fingerprint=found.fingerprint)


@dataclass(frozen=True, slots=True)
class Admission:
    """Who may connect, and whether over TLS."""

    authority: Authority
    origin: str  # how a person finds a token, for the screen; never the token
    tls: Tls | None

    @property
    def household(self) -> Household | None:
        """The people, unless the server has one token for all."""
        authority = self.authority
        return authority if isinstance(authority, Household) else None


@contextmanager
def admission(
    folder: Path,
    token: str | None,
    *,
    remote: bool,
    certificate_file: Path | None = None,
    key_file: Path | None = None,
) -> Iterator[Admission]:
    """Who may connect, and by which certificate, while the block runs.

    With a `token`, whoever shows it. Else the devices of the household whose file lies
    in `folder`, and whoever can read the token file there. TLS is spoken to a household
    and to other machines (`remote`), with the given certificate or the server's own.

    Raises:
        InvalidSettingsError: the token is invalid.
        PeopleError: the file of the people cannot be used.
        ServerError: the files hold no certificate and key.
    """
    if key_file is not None and certificate_file is None:
        raise ServerError("--tls-key goes with --tls-certificate")
    given = None
    if certificate_file is not None:
        given = given_certificate(certificate_file, key_file)
    if token is not None:
        one = OneToken(check_token(token))
        if given is None and remote:
            with People(folder) as people:
                given = own_certificate(people)
        yield Admission(one, "with the token that was given", given)
        return
    with People(folder) as people:
        path = folder / FILE_NAME
        if people.take_token(stored_token(folder)) is None:
            origin = f"the token in {path} was revoked; delete the file for another"
        else:
            origin = f"token in {path}"
        tls = given or own_certificate(people)
        with closing(Household(people)) as household:
            yield Admission(household, origin, tls)


def given_certificate(path: Path, key: Path | None) -> Tls:
    """The certificate of given files; raises ServerError."""
    context = context_of_files(path, key)
    text = path.read_text("utf-8", "replace")
    return Tls(context, fingerprint_of(text), (path, key))


def own_certificate(people: People) -> Tls:
    """The server's own certificate; raises PeopleError."""
    pem, fingerprint = people.certificate(make_certificate)
    return Tls(context_of_pem(pem, people.folder), fingerprint)
