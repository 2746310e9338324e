"""Who may connect to a server that is about to start, and whether over TLS."""

from __future__ import annotations

import ssl
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cloud_api import certificate
from cloud_api.auth.tokens import FILE_NAME, check_token, stored_token
from cloud_api.callers import Authority, OneToken
from cloud_api.errors import ServerError
from cloud_api.people.household import Household
from cloud_api.people.people import People


@dataclass(frozen=True, slots=True)
class Tls:
    """What the server shows those who come with TLS."""

    context: ssl.SSLContext
    fingerprint: str
    """Of its certificate."""
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
        """The same with what the files hold now, which is shown to whoever connects
        from now on; the connections that there are stay.

        Raises:
            ServerError: they hold no certificate and key; the ones before are shown.
        """
        assert self.files is not None
        found = given_certificate(*self.files)
        self.context.load_cert_chain(*self.files, password="")
        return replace(self, fingerprint=found.fingerprint)


@dataclass(frozen=True, slots=True)
class Admission:
    """Who may connect, and whether over TLS."""

    authority: Authority
    origin: str
    """How a person finds a token, for the screen; never the token."""
    tls: Tls | None

    @property
    def household(self) -> Household | None:
        """The people, where the server has not one token for all."""
        authority = self.authority
        return authority if isinstance(authority, Household) else None

    def close(self) -> None:
        """Close the file of the people."""
        if self.household is not None:
            self.household.close()


def admission(
    folder: Path,
    token: str | None,
    *,
    remote: bool,
    certificate_file: Path | None = None,
    key_file: Path | None = None,
) -> Admission:
    """Let in who shows `token`; without one, the household whose file lies in `folder`,
    and whoever reads the token file there. TLS is spoken to a household, and wherever
    other machines can connect (`remote`), with the given certificate or the server's
    own, which the first start makes.

    Raises:
        InvalidSettingsError: the token is none.
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
        return Admission(one, "with the token that was given", given)
    people = People(folder)
    try:
        path = folder / FILE_NAME
        if people.take_token(stored_token(folder)) is None:
            origin = f"the token in {path} was revoked; delete the file for another"
        else:
            origin = f"token in {path}"
        return Admission(Household(people), origin, given or own_certificate(people))
    except BaseException:
        people.close()
        raise


def given_certificate(path: Path, key: Path | None) -> Tls:
    """The certificate of given files; raises ServerError."""
    context = certificate.context_of_files(path, key)
    text = path.read_text("utf-8", "replace")
    return Tls(context, certificate.fingerprint_of(text), (path, key))


def own_certificate(people: People) -> Tls:
    """The server's own certificate; raises PeopleError."""
    pem, fingerprint = people.certificate(certificate.make_certificate)
    return Tls(certificate.context_of_pem(pem, people.folder), fingerprint)
