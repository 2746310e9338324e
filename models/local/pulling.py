"""Models from a hub such as Hugging Face: what it offers, and pulling that.

The only module that uses `huggingface_hub`, which is loaded when a hub is asked and
not before. Its own download begins anew after a kill and compares sizes alone; so its
lower layer fills a file of ours here, from where that ends, and the checksum is
computed over the whole file before it takes its name.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import IO, Any
from urllib.parse import urlsplit

from base.locks import lock
from base.owner_only import make_folder, open_private
from decoding_core.errors import ChecksumError, InvalidSettingsError, ModelError
from decoding_core.foreign_text import one_line
from models.local.describing import is_later_part, part_names
from models.local.finding import (
    PulledFile,
    PulledNote,
    folder_of,
    is_part_of_pull,
    part_of_pull,
    read_note,
    sha256_of,
    write_note,
)

PACKAGE = "huggingface_hub>=1,<2"
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_FILE = re.compile(
    r"([A-Za-z0-9][\w. +-]{0,200}/)*[A-Za-z0-9_][\w. +-]{0,200}", re.ASCII
)
"""Names that can steer no path: no folder above, nothing hidden."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_OF_TRANSFORMERS = re.compile(
    r"[^/]+\.safetensors|model\.safetensors\.index\.json|config\.json"
    r"|generation_config\.json|(tokenizer|special_tokens|added_tokens|vocab)[^/]*\.json"
    r"|merges\.txt|tokenizer\.model|chat_template\.(jinja|json)"
)
"""Files that the transformers engine reads; never pickles, which can run code."""
_NAMED = {"user-agent": "specsteer"}
"""Instead of the versions of Python and of libraries that it would tell."""
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_SECONDS = 30.0
"""For an answer of the hub; the library waits without end. Files have its own limit."""
_LEAST = 1000
"""Bytes that come in as many seconds, if more are to be waited for."""
_MOST_TOLD = 16 << 20
"""Bytes of what a hub tells of a repository."""
_room: ContextVar[float] = ContextVar("_room", default=math.inf)
"""Bytes that an answer may have now."""
_SPARE = 256 << 20
"""Bytes of the disk that stay free."""
_MOST_FILES = 10_000

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository, as the hub tells of it."""

    name: str
    size: int
    sha256: str
    """Of large files; empty where the hub names none."""
    git_id: str
    """Of small files: what git calls its content; empty where the hub names none."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What would be pulled of a repository."""

    repository: str
    revision: str
    """The commit that the files are of."""
    files: tuple[HubFile, ...]
    licence: str
    """As the hub names it; empty where it names none."""
    licence_address: str
    """Where to read it; empty where that is not said."""
    expected: str = ""
    """The SHA-256 that the catalogue names for the first file; often empty."""

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
    InvalidSettingsError for what is no address."""
    address = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        sound = False
    if not sound:
        raise InvalidSettingsError(
            f"HF_ENDPOINT is no address of a hub: {one_line(address)}; it must be such "
            "as https://huggingface.co"
        )
    return address


def ask_hub(repository: str, file: str = "", expected: str = "") -> Offer:
    """What the hub has of a repository `ORG/NAME`: one GGUF model with all its parts,
    or the folder of a transformers model. `expected` is the SHA-256 that the catalogue
    names for the file.

    Raises:
        InvalidSettingsError: no repository or file can have that name.
        ModelError: the hub cannot be asked, does not show it, or has several.
        ChecksumError: it has another file than the catalogue names.
    """
    if not _REPOSITORY.fullmatch(repository) or (file and not _FILE.fullmatch(file)):
        raise InvalidSettingsError(
            f"'{one_line(f'{repository}/{file}'.rstrip('/'))}' is no name of a model "
            "on a hub; give ORG/REPOSITORY or ORG/REPOSITORY/FILE.gguf"
        )
    hub_address()  # the library cannot be loaded with one that is none
    hub = _library()
    with _translated(hub, repository):
        listing = _listing(hub, repository, file)
    files = _chosen(repository, file, listing.files)
    with _translated(hub, f"{repository}/{files[0].name}"):
        asked = [_completed(hub, repository, listing.revision, one) for one in files]
    files, revision = tuple(one for one, _ in asked), listing.revision
    if not _COMMIT.fullmatch(revision):
        revision = asked[0][1]
    if not _COMMIT.fullmatch(revision) or any(one.size < 0 for one in files):
        raise ModelError(f"what answers at {hub_address()} is no hub of models")
    if expected and files[0].sha256 not in ("", expected):
        raise ChecksumError(
            f"{hub_address()} has another {file} than the catalogue names: its "
            f"checksum differs. 'specsteer models pull {repository}/{file}' takes "
            "what is there"
        )
    return Offer(
        repository,
        revision,
        files,
        one_line(listing.licence)[:80],
        one_line(listing.licence_address)[:200],
        expected,
    )


def pull(offer: Offer, progress: Progress) -> Path:
    """Bring the files of an offer here, and the path of the model. What an earlier pull
    left unfinished is gone on with.

    Raises:
        ModelError: the hub cannot be asked, the disk is full, or another pull of the
            same file runs.
        ChecksumError: a file came with another checksum; it was deleted.
    """
    hub = _library()
    folder = folder_of(offer.repository)
    make_folder(folder)
    note = read_note(folder) or PulledNote(offer.repository)
    note.revision, note.licence, note.agreed = offer.revision, offer.licence, True
    note.coming = {file.name: file.size for file in offer.files}
    write_note(folder, note)
    missing = [file for file in offer.files if not _is_here(folder, file, note)]
    begun = [_part(offer, file) for file in missing]
    _check_room(folder, missing, sum(p.stat().st_size for p in begun if p.is_file()))
    done = offer.size - sum(file.size for file in missing)
    for file in missing:
        target = folder / file.name
        make_folder(target.parent)
        sha256, checked = _pull_one(hub, offer, file, target, done, progress)
        note.files[file.name] = PulledFile(file.size, sha256, checked)
        write_note(folder, note)
        done += file.size
    note.coming = {}
    write_note(folder, note)
    return offer.path


def _pull_one(
    hub: ModuleType,
    offer: Offer,
    file: HubFile,
    target: Path,
    done: int,
    progress: Progress,
) -> tuple[str, str]:
    """Pull one file, and put it in place once it is whole and right; its SHA-256, and
    with whose it was compared."""
    expected = offer.expected if file == offer.files[0] else ""
    part = _part(offer, file)
    for old in target.parent.iterdir():
        if is_part_of_pull(old.name, target.name) and old != part:
            old.unlink()  # of a file that the hub has changed since
    flags = os.O_RDWR | os.O_CREAT
    with os.fdopen(open_private(part, flags), "r+b") as raw:
        _lock(raw, target)
        start = raw.seek(0, os.SEEK_END)
        if start > file.size:
            start = raw.seek(0)
            raw.truncate()
        with _translated(hub, f"{offer.repository}/{file.name}"):
            hub.file_download.http_get(
                _address(hub, offer.repository, file, offer.revision),
                _Counted(raw, file.size, lambda at: progress(done + at, offer.size)),
                resume_size=start,
                headers=hub.utils.build_hf_headers(token=_token(), headers=_NAMED),
                expected_size=file.size,
            )
        raw.flush()
        os.fsync(raw.fileno())
    sha256 = sha256_of(part)
    right, checked = True, ""
    if expected or file.sha256:
        right, checked = sha256 == (expected or file.sha256), "hub"
        checked = "catalogue" if expected else "hub"
    elif file.git_id:
        right, checked = _git_id(part) == file.git_id, "hub"
    if not right:
        part.unlink()
        raise ChecksumError(
            f"{file.name} of {offer.repository} came with another checksum than the "
            f"{checked} names, so it was deleted; pull it again, and if that happens "
            "again do not trust that hub"
        )
    part.replace(target)
    return sha256, checked


def _part(offer: Offer, file: HubFile) -> Path:
    """Where a file lies until it is whole."""
    expected = offer.expected if file == offer.files[0] else ""
    target = folder_of(offer.repository) / file.name
    named = expected or file.sha256 or file.git_id or offer.revision
    return target.with_name(part_of_pull(target.name, named))


class _Counted:
    """The file that the library writes to, with every write told; it takes no more than
    the hub said it would send."""

    def __init__(self, file: IO[bytes], size: int, told: Callable[[int], None]) -> None:
        self._file, self._size, self._told = file, size, told

    def write(self, data: bytes) -> int:
        if self._file.tell() + len(data) > self._size:
            raise OSError("more came than was named")
        written = self._file.write(data)
        self._told(self._file.tell())
        return written

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def truncate(self) -> int:
        return self._file.truncate()


def _library() -> Any:
    """`huggingface_hub`, told to send nothing of its own."""
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # read when it is imported
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"  # we draw one
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # a second client, that counts nothing
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    try:
        import huggingface_hub
        import huggingface_hub.file_download
        import huggingface_hub.utils
    except ImportError as error:
        raise ModelError(
            "pulling models needs the library huggingface_hub; "
            f"'{sys.executable} -P -m pip install \"{PACKAGE}\"' adds it"
        ) from error
    huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY = True  # if loaded before
    _bound()
    return huggingface_hub


@cache
def _bound() -> None:
    """Bound the library's connections: its own limits begin anew with each byte;
    `test_a_hub_that_drips_is_left` fails when their place in the library moves."""
    from huggingface_hub.utils import _http

    from base.bounded_http import TOO_SLOW, BoundedBackend, Line

    class HubLine(Line):
        """Ends an answer of which fewer than `_LEAST` bytes come in `_SECONDS`, or
        more than `_room` in all."""

        def __init__(self) -> None:
            super().__init__()
            self._asked, self._since, self._before = -1, 0.0, 0

        def check(self) -> None:
            now, room = time.monotonic(), _room.get()
            if self.up != self._asked:
                self._asked, self._since, self._before = self.up, now, self.down
                self.allow(room)
            elif now > self._since + _SECONDS:
                if self.down - self._before < _LEAST:
                    self.give_up(TOO_SLOW)
                self._since, self._before = now, self.down
            super().check()

        def give_up(self, complaint: str) -> None:
            # The library would try again after an error of its connections.
            raise _library().errors.HTTPError(complaint)

    class OfThread(threading.local):
        def __init__(self) -> None:
            self.line = HubLine()

    of_thread = OfThread()

    def bounded() -> Any:
        client = _http.default_client_factory()
        for transport in (client._transport, *client._mounts.values()):
            if transport is not None:
                pool = transport._pool
                pool._network_backend = BoundedBackend(
                    pool._network_backend, lambda: of_thread.line
                )
        return client

    _http.set_client_factory(bounded)


def _token() -> str | bool:
    """The token of `HF_TOKEN`; False where there is none. Never to an address that
    others on the way could read."""
    token = os.environ.get("HF_TOKEN", "").strip()
    if not token:
        return False
    address = urlsplit(hub_address())
    if address.scheme != "https" and address.hostname not in _LOOPBACK:
        raise InvalidSettingsError(
            f"HF_TOKEN would be sent in clear to {hub_address()}; unset it, or set "
            "HF_ENDPOINT to an https address"
        )
    return token


@contextmanager
def _translated(hub: Any, wanted: str) -> Iterator[None]:
    """Turn what the library raises into one sentence that says what to do."""
    errors, address = hub.errors, hub_address()
    try:
        yield
    except errors.GatedRepoError as error:
        raise ModelError(
            f"{wanted} is gated: open {address}/{'/'.join(wanted.split('/')[:2])} in a "
            "browser, accept its terms, make a token there and set HF_TOKEN to it"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise ModelError(
            f"{address} shows no repository {wanted}: the name may be wrong, or it is "
            "private and HF_TOKEN must hold a token that may read it"
        ) from error
    except (errors.EntryNotFoundError, errors.RevisionNotFoundError) as error:
        raise ModelError(f"{address} has no {wanted}") from error
    except errors.OfflineModeIsEnabled as error:
        raise ModelError(
            "HF_HUB_OFFLINE says that no hub may be asked; unset it to pull"
        ) from error
    except errors.HfHubHTTPError as error:
        raise ModelError(_refusal(error, wanted)) from error
    except errors.HTTPError as error:  # of httpx: no answer, or a broken one
        raise ModelError(
            f"{address} cannot be reached, hardly answers, or ended in the middle; "
            "what was pulled is kept, and the same command goes on with it"
        ) from error
    except OSError as error:
        if error.errno is not None:
            raise ModelError(
                f"the file cannot be written: {(error.strerror or str(error)).lower()}"
            ) from error
        raise ModelError(
            f"{wanted} came with another size than {address} names; the same command "
            "tries again"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"what answers at {address} is no hub of models") from error


def _refusal(error: Any, wanted: str) -> str:
    """A sentence for a status that has no error of its own."""
    status, address = error.response.status_code, hub_address()
    if status in (401, 403):
        return f"{address} refuses {wanted}: HF_TOKEN holds no token that may read it"
    if status == 429:
        return f"{address} has been asked too often; wait some minutes"
    return f"{address} answers with status {status}; try again later"


@dataclass(frozen=True, slots=True)
class _Listing:
    """What a hub tells of a repository."""

    revision: str
    files: list[HubFile]
    licence: str = ""
    licence_address: str = ""


def _listing(hub: Any, repository: str, file: str) -> _Listing:
    """What the hub tells of a repository; of a mirror that tells of none, the file that
    is asked for. Raises what the library raises."""
    api = hub.HfApi(endpoint=hub_address(), token=_token(), headers=_NAMED)
    before = _room.set(_MOST_TOLD)
    try:
        info = api.model_info(repository, files_metadata=True, timeout=_SECONDS)
    except hub.errors.RepositoryNotFoundError as error:
        if not file or isinstance(error, hub.errors.GatedRepoError):
            raise
        names = _all_parts(file)
        return _Listing("main", [HubFile(name, -1, "", "") for name in names])
    finally:
        _room.reset(before)
    card = info.card_data or {}
    files = [_hub_file(one) for one in (info.siblings or [])[:_MOST_FILES]]
    return _Listing(
        str(info.sha or "main"),
        [one for one in files if _FILE.fullmatch(one.name)],
        str(card.get("license_name") or card.get("license") or ""),
        str(card.get("license_link") or ""),
    )


def _hub_file(sibling: Any) -> HubFile:
    """What the hub tells of a file in its list."""
    size, sha256, git_id = sibling.size, "", str(sibling.blob_id or "")
    if sibling.lfs is not None:
        size, sha256, git_id = sibling.lfs.size, str(sibling.lfs.sha256), ""
    size = size if isinstance(size, int) else -1
    return HubFile(
        str(sibling.rfilename),
        size,
        sha256 if _SHA256.fullmatch(sha256) else "",
        git_id if _COMMIT.fullmatch(git_id) else "",
    )


def _completed(
    hub: Any, repository: str, revision: str, file: HubFile
) -> tuple[HubFile, str]:
    """The file with its size and checksum, asked for where the list does not say them;
    and the commit that it is of, as far as that was asked."""
    if file.size >= 0 and (file.sha256 or file.git_id):
        return file, ""
    about = hub.get_hf_file_metadata(
        _address(hub, repository, file, revision), token=_token(), headers=_NAMED
    )
    size = file.size if about.size is None else int(about.size)
    etag = about.etag or ""
    sha256 = etag if _SHA256.fullmatch(etag) else ""
    git_id = etag if _COMMIT.fullmatch(etag) else ""
    return HubFile(file.name, size, sha256, git_id), about.commit_hash or ""


def _address(hub: Any, repository: str, file: HubFile, revision: str) -> str:
    """Where a file of a repository is fetched."""
    address: str = hub.hf_hub_url(
        repository, file.name, revision=revision, endpoint=hub_address()
    )
    return address


def _chosen(repository: str, file: str, there: list[HubFile]) -> tuple[HubFile, ...]:
    """The files of one model among those of a repository, the first one first."""
    named = {one.name: one for one in there}
    if file:
        names = _all_parts(file)
        lacking = [name for name in names if name not in named]
        if lacking:
            raise ModelError(
                f"{hub_address()} has no file {lacking[0]} in {repository}"
                f"{_those_there(repository, named)}"
            )
        return tuple(named[name] for name in names)
    models = _gguf_models(named)
    if len(models) == 1:
        return _chosen(repository, models[0], there)
    if models:
        raise ModelError(
            f"{repository} holds several models{_those_there(repository, named)}"
        )
    files = [one for one in there if _OF_TRANSFORMERS.fullmatch(one.name)]
    files = [one for one in files if not one.name.startswith("consolidated")]
    if "config.json" not in named or not any(
        one.name.endswith(".safetensors") for one in files
    ):
        raise ModelError(f"{repository} holds no GGUF file and no safetensors")
    return tuple(sorted(files, key=lambda one: (one.name != "config.json", one.name)))


def _gguf_models(named: dict[str, HubFile]) -> list[str]:
    return [
        name
        for name in named
        if name.lower().endswith(".gguf")
        and not is_later_part(Path(name))
        and "mmproj" not in name.lower()
    ]


def _those_there(repository: str, named: Sequence[str] | dict[str, HubFile]) -> str:
    models = _gguf_models(dict.fromkeys(named))  # type: ignore[arg-type]
    if not models:
        return ""
    shown = ", ".join(f"{repository}/{name}" for name in models[:12])
    return f"; give one of: {shown}{', and others' if len(models) > 12 else ''}"


def _all_parts(file: str) -> list[str]:
    """The names of all parts of a model, by that of the first."""
    first = PurePosixPath(file)
    return [str(first.with_name(name)) for name in part_names(first.name)]


def _is_here(folder: Path, file: HubFile, note: PulledNote) -> bool:
    """Whether an earlier pull has brought this very file."""
    kept = note.files.get(file.name)
    if kept is None or kept.size != file.size:
        return False
    if file.sha256 and kept.sha256 != file.sha256:
        return False
    with suppress(OSError):
        return (folder / file.name).stat().st_size == file.size
    return False


def _check_room(folder: Path, missing: Sequence[HubFile], begun: int) -> None:
    """Raise ModelError where the disk has no room for the files, of which so many bytes
    are here."""
    needed = sum(file.size for file in missing) - begun
    free = shutil.disk_usage(folder).free
    if missing and free < needed + _SPARE:
        raise ModelError(
            f"the disk of {folder} has no room: {needed / 1e9:.1f} GB are needed and "
            f"{free / 1e9:.1f} GB are free; make room, or let SPECSTEER_HOME name a "
            "folder on another disk"
        )


def _lock(file: IO[bytes], target: Path) -> None:
    """Take the file for this process alone; raises ModelError if another has it. The
    system lets go of it when the process ends, however that happens."""
    try:
        lock(file)
    except OSError as error:
        raise ModelError(
            f"another pull of {target.name} is running; wait until it has ended"
        ) from error


def _git_id(path: Path) -> str:
    """What git calls a file of this content."""
    sha = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            sha.update(chunk)
    return sha.hexdigest()
