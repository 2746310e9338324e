"""Models from a hub such as Hugging Face: what it offers, and pulling that.

The only module that uses `huggingface_hub`, which is imported when a hub is asked. Its
own download begins anew after a kill and compares sizes alone; so its lower layer
fills a file of ours from where that ends, and the checksum is computed over the whole
file before it takes its name.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from base.bounded_http import TOO_SLOW, BoundedBackend, Line
from base.locks import lock
from base.owner_only import make_folder, open_private
from decoding_core.errors import (
    ChecksumError,
    InvalidSettingsError,
    ModelError,
    ModelNotFoundError,
)
from decoding_core.foreign_text import one_line
from models.local.describing import is_later_part, part_names
from models.local.finding import (
    Progress,
    PulledFile,
    PulledNote,
    folder_of,
    parts_of_pulls,
    read_note,
    sha256_of,
    write_note,
)

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_FILE = re.compile(
    r"([A-Za-z0-9][\w. +-]{0,200}/)*[A-Za-z0-9_][\w. +-]{0,200}", re.ASCII
)
"""Names that can steer no path: no folder above, nothing hidden."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_CHECKSUM = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_OF_TRANSFORMERS = re.compile(
    r"(?!consolidated)[^/]+\.safetensors|model\.safetensors\.index\.json|config\.json"
    r"|generation_config\.json|(tokenizer|special_tokens|added_tokens|vocab)[^/]*\.json"
    r"|merges\.txt|tokenizer\.model|chat_template\.(jinja|json)"
)
"""Files that the transformers engine reads; never pickles, which can run code."""
_NAMED = {"user-agent": "specsteer"}
"""In place of the versions of Python and of libraries."""
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_SECONDS = 30.0
"""For an answer of the hub; the library waits without end. Files have its own limit."""
_LEAST = 1000  # bytes that must come in as many seconds
_LONGEST_LISTING = 16 << 20  # bytes of the answer about a repository
_SPARE = 256 << 20  # bytes of the disk that stay free
_MOST_FILES = 10_000


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository."""

    name: str
    size: int
    checksum: str
    """SHA-256 of a large file, git's id (SHA-1) of a small one; empty if unknown."""
    named_by: str = "hub"  # whose checksum that is: `hub` or `catalogue`


@dataclass(frozen=True, slots=True)
class Offer:
    """What would be pulled of a repository."""

    repository: str
    revision: str  # the commit that the files are of
    files: tuple[HubFile, ...]
    licence: str  # as the hub names it; empty if it names none
    licence_address: str  # where to read it; empty if unknown

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def path(self) -> Path:
        """Where the model will lie: its first GGUF file, or its folder."""
        folder = folder_of(self.repository)
        first = self.files[0].name
        return folder / first if first.endswith(".gguf") else folder


def hub_address() -> str:
    """The hub that is asked: `HF_ENDPOINT`, or Hugging Face. Raises
    InvalidSettingsError for an invalid address."""
    address = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname:
            return address
    raise InvalidSettingsError(
        f"HF_ENDPOINT is no address of a hub: {one_line(address)}; it must be such "
        "as https://huggingface.co"
    )


def ask_hub(repository: str, file: str = "", expected: str = "") -> Offer:
    """What the hub has of a repository `ORG/NAME`: one GGUF model with all its parts,
    or the folder of a transformers model. `expected` is the SHA-256 that the catalogue
    names for the file.

    Raises:
        InvalidSettingsError: no repository or file can have that name.
        ModelNotFoundError: the hub does not show it.
        ModelError: the hub cannot be asked, or has several.
        ChecksumError: it has another file than the catalogue names.
    """
    if not _REPOSITORY.fullmatch(repository) or (file and not _FILE.fullmatch(file)):
        raise InvalidSettingsError(
            f"'{one_line(f'{repository}/{file}'.rstrip('/'))}' is no name of a model "
            "on a hub; give ORG/REPOSITORY or ORG/REPOSITORY/FILE.gguf"
        )
    address = hub_address()  # the library cannot be imported with an invalid one
    hub, files = _library(), list[HubFile]()
    _LINE.attach(Event())
    with _translated(hub, repository):
        revision, names, licence, link = _listing(hub, repository)
    if not _COMMIT.fullmatch(revision):
        raise ModelError(f"what answers at {address} is no hub of models")
    chosen = _chosen(repository, file, names)
    with _translated(hub, f"{repository}/{chosen[0]}"):
        for name in chosen:
            about = hub.get_hf_file_metadata(
                hub.hf_hub_url(repository, name, revision=revision, endpoint=address),
                token=_token(),
                headers=_NAMED,
            )
            etag = about.etag if _CHECKSUM.fullmatch(about.etag or "") else ""
            files.append(HubFile(name, int(about.size), etag))
    if expected:
        if len(files[0].checksum) == 64 and files[0].checksum != expected:
            raise ChecksumError(
                f"{address} has another {file} than the catalogue names: its "
                f"checksum differs. 'specsteer models pull {repository}/{file}' takes "
                "what is there"
            )
        files[0] = replace(files[0], checksum=expected, named_by="catalogue")
    return Offer(repository, revision, tuple(files), licence, link)


def pull(offer: Offer, progress: Progress, stop: Event | None = None) -> Path:
    """Bring the files of an offer here, going on with what an earlier pull left;
    returns the path of the model.

    Raises:
        ModelError: the hub cannot be asked, the disk is full, another pull of the
            same file runs, or `stop` is set.
        ChecksumError: a file came with another checksum; it was deleted.
    """
    hub, folder = _library(), folder_of(offer.repository)
    _LINE.attach(stop or Event())
    make_folder(folder)
    note = read_note(folder) or PulledNote(offer.repository)
    note.revision, note.licence = offer.revision, offer.licence
    write_note(folder, note)
    missing = [file for file in offer.files if not _is_here(folder, file, note)]
    begun = [_part(offer, file) for file in missing]
    needed = sum(file.size for file in missing)
    needed -= sum(part.stat().st_size for part in begun if part.is_file())
    free = shutil.disk_usage(folder).free
    if missing and free < needed + _SPARE:
        raise ModelError(
            f"the disk of {folder} has no room: {needed / 1e9:.1f} GB are needed and "
            f"{free / 1e9:.1f} GB are free; make room, or let SPECSTEER_HOME name a "
            "folder on another disk"
        )
    done = offer.size - sum(file.size for file in missing)
    for file, part in zip(missing, begun, strict=True):
        target = folder / file.name
        make_folder(target.parent)
        for old in parts_of_pulls(target):
            if old != part:
                old.unlink()  # of a file that the hub has changed since
        _fill(hub, offer, file, done, progress)
        sha256 = _checked(offer, file)
        part.replace(target)
        checked = file.named_by if file.checksum else ""
        note.files[file.name] = PulledFile(file.size, sha256, checked)
        write_note(folder, note)
        done += file.size
    return offer.path


def _part(offer: Offer, file: HubFile) -> Path:
    """Where a file lies while it is pulled; if the hub changes it, at another path."""
    target = folder_of(offer.repository) / file.name
    named = file.checksum or offer.revision
    return target.with_name(f".{target.name}.{named[:16]}.part")


def _fill(hub: Any, offer: Offer, file: HubFile, done: int, progress: Progress) -> None:
    """Pull the rest of a file; `done` counts the bytes of those before it."""
    handle = open_private(_part(offer, file), os.O_RDWR | os.O_CREAT)
    with _Bounded(io.FileIO(handle, "r+b")) as part:
        try:
            lock(part)  # the system releases it when this process ends
        except OSError as error:
            name = Path(file.name).name
            raise ModelError(
                f"another pull of {name} is running; wait until it has ended"
            ) from error
        part.limit = file.size
        part.heard = lambda at: progress(done + at, offer.size)
        start = part.seek(0, os.SEEK_END)
        if start > file.size:
            start = part.seek(0)
            part.truncate()
        with _translated(hub, f"{offer.repository}/{file.name}"):
            hub.file_download.http_get(
                hub.hf_hub_url(
                    *(offer.repository, file.name),
                    revision=offer.revision,
                    endpoint=hub_address(),
                ),
                part,
                resume_size=start,
                headers=hub.utils.build_hf_headers(token=_token(), headers=_NAMED),
                expected_size=file.size,
            )
        part.flush()
        os.fsync(handle)


class _Bounded(io.BufferedRandom):
    """A file with a largest size, which reports each write."""

    limit: int
    heard: Callable[[int], None]

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > self.limit:
            raise OSError("more came than was named")
        written = super().write(data)
        self.heard(self.tell())
        return written


def _checked(offer: Offer, file: HubFile) -> str:
    """The SHA-256 of a pulled file; raises ChecksumError, and deletes it, if it has
    another checksum than was named."""
    part = _part(offer, file)
    found = sha256 = sha256_of(part)
    if len(file.checksum) == 40:
        sha = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
        with part.open("rb") as data:
            found = hashlib.file_digest(data, lambda: sha).hexdigest()
    if file.checksum and found != file.checksum:
        part.unlink()
        raise ChecksumError(
            f"{file.name} of {offer.repository} came with another checksum than the "
            f"{file.named_by} names, so it was deleted; pull it again, and if that "
            "happens again do not trust that hub"
        )
    return sha256


class _HubLine(Line):
    """Ends an answer below `_LEAST` bytes in `_SECONDS`, or above `room` in all."""

    room = math.inf

    def __init__(self) -> None:
        super().__init__()
        self._asked, self._since, self._before = -1, 0.0, 0

    def check(self) -> None:
        now = time.monotonic()
        if self.up != self._asked:
            self._asked, self._since, self._before = self.up, now, self.down
            self.allow(self.room)
        elif now > self._since + _SECONDS:
            if self.down - self._before < _LEAST:
                self.give_up(TOO_SLOW)
            self._since, self._before = now, self.down
        super().check()

    def give_up(self, complaint: str) -> None:
        # The library would try again after an error of its connections.
        raise _library().errors.HTTPError(complaint)


_LINE = _HubLine()


@cache
def _library() -> Any:
    """`huggingface_hub`, with nothing of its own to send and with bounded
    connections, as its own limits begin anew with each byte;
    `test_a_hub_that_hardly_answers_is_left` fails when their place in it moves."""
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # read when it is imported
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"  # we draw one
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # a second client, that counts nothing
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    import huggingface_hub
    import huggingface_hub.file_download
    from huggingface_hub.utils import _http

    huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY = True  # if loaded before
    huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE = 1 << 20  # progress is heard so

    def bounded() -> Any:
        client = _http.default_client_factory()
        for transport in (client._transport, *client._mounts.values()):
            if transport is not None:
                pool = transport._pool
                pool._network_backend = BoundedBackend(
                    pool._network_backend, lambda: _LINE
                )
        return client

    _http.set_client_factory(bounded)
    return huggingface_hub


def _token() -> str | bool:
    """The token of `HF_TOKEN`, or False; never for an address that others on the way
    could read."""
    token = os.environ.get("HF_TOKEN", "").strip()
    if not token:
        return False
    address = urlsplit(hub_address())
    if address.scheme == "https" or address.hostname in _LOOPBACK:
        return token
    raise InvalidSettingsError(
        f"HF_TOKEN would be sent in clear to {hub_address()}; unset it, or set "
        "HF_ENDPOINT to an https address"
    )


@contextmanager
def _translated(hub: Any, wanted: str) -> Iterator[None]:
    """Turn what the library raises into one sentence that says what to do."""
    odd = (OSError, ValueError, KeyError, TypeError, AttributeError)
    try:
        yield
    except (hub.errors.HTTPError, *odd) as error:
        absent = hub.errors.RepositoryNotFoundError, hub.errors.EntryNotFoundError
        kind = ModelNotFoundError if isinstance(error, absent) else ModelError
        raise kind(_in_words(hub.errors, error, wanted)) from error


def _in_words(errors: Any, error: Exception, wanted: str) -> str:
    address, repository = hub_address(), "/".join(wanted.split("/")[:2])
    kinds = {
        errors.GatedRepoError: f"{wanted} is gated: open {address}/{repository} in a "
        "browser, accept its terms, make a token there and set HF_TOKEN to it",
        errors.RepositoryNotFoundError: f"{address} shows no repository {wanted}: the "
        "name may be wrong, or it is private and HF_TOKEN must hold a token that may "
        "read it",
        errors.EntryNotFoundError: f"{address} has no {wanted}",
        errors.RevisionNotFoundError: f"{address} has no {wanted}",
        errors.OfflineModeIsEnabled: "HF_HUB_OFFLINE says that no hub may be asked; "
        "unset it to pull",
    }
    for kind, sentence in kinds.items():
        if isinstance(error, kind):
            return sentence
    if isinstance(error, errors.HfHubHTTPError):
        status = error.response.status_code
        refused = f"refuses {wanted}: HF_TOKEN holds no token that may read it"
        known = {401: refused, 403: refused}
        known[429] = "has been asked too often; wait some minutes"
        other = f"answers with status {status}; try again later"
        return f"{address} {known.get(status, other)}"
    if isinstance(error, errors.HTTPError):  # of httpx: no answer, or a broken one
        return (
            f"{address} cannot be reached, hardly answers, or ended in the middle; "
            "what was pulled is kept, and another pull goes on with it"
        )
    if not isinstance(error, OSError):
        return f"what answers at {address} is no hub of models"
    if error.errno is not None:
        why = (error.strerror or str(error)).lower()
        return f"the file cannot be written: {why}"
    return (
        f"{wanted} came with another size than {address} names; another pull "
        "tries again"
    )


def _listing(hub: Any, repository: str) -> tuple[str, list[str], str, str]:
    """A repository's revision, file names, licence and the address of that."""
    api = hub.HfApi(endpoint=hub_address(), token=_token(), headers=_NAMED)
    _LINE.room = _LONGEST_LISTING
    try:
        info = api.model_info(repository, timeout=_SECONDS)
    finally:
        _LINE.room = math.inf
    card = info.card_data or {}
    names = [str(one.rfilename) for one in (info.siblings or [])[:_MOST_FILES]]
    licence = str(card.get("license_name") or card.get("license") or "")
    return (
        str(info.sha),
        [name for name in names if _FILE.fullmatch(name)],
        one_line(licence)[:80],
        one_line(str(card.get("license_link") or ""))[:200],
    )


def _chosen(repository: str, file: str, names: Sequence[str]) -> list[str]:
    """The files of one model among those of a repository, the first one first."""
    models = [
        name
        for name in names
        if name.lower().endswith(".gguf")
        and not is_later_part(Path(name))
        and "mmproj" not in name.lower()
    ]
    if not file and len(models) == 1:
        file = models[0]
    shown = ", ".join(f"{repository}/{name}" for name in models[:12])
    shown += ", and others" if len(models) > 12 else ""
    hint = f"; give one of: {shown}" if models else ""
    if file:
        first = PurePosixPath(file)
        parts = [str(first.with_name(name)) for name in part_names(first.name)]
        for name in parts:
            if name not in names:
                raise ModelNotFoundError(
                    f"{hub_address()} has no file {name} in {repository}{hint}"
                )
        return parts
    if models:
        raise ModelError(f"{repository} holds several models{hint}")
    files = [name for name in names if _OF_TRANSFORMERS.fullmatch(name)]
    weights = any(name.endswith(".safetensors") for name in files)
    if "config.json" not in files or not weights:
        raise ModelError(f"{repository} holds no GGUF file and no safetensors")
    return sorted(files, key=lambda name: (name != "config.json", name))


def _is_here(folder: Path, file: HubFile, note: PulledNote) -> bool:
    """Whether an earlier pull has brought this very file."""
    kept = note.files.get(file.name)
    if kept is None or kept.size != file.size:
        return False
    if len(file.checksum) == 64 and kept.sha256 != file.checksum:
        return False
    with suppress(OSError):
        return (folder / file.name).stat().st_size == file.size
    return False
