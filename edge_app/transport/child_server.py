"""A verifier server as a child process on loopback, for those who have no other.

Two processes and a real socket, always: what is shown to leave the device does leave
this process. The child ends with its parent, whose end of the pipe it watches.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING

from base import python_child
from decoding_core import errors
from models.running.machine import threads_beside
from models.running.settings import EngineSettings

if TYPE_CHECKING:
    from edge_app.transport.client import Connection

_START_SECONDS = 120.0
_POLL_SECONDS = 0.02
_EXPLAINED = "Error: "
_POOL = "8192"
"""Tokens of all texts: one person's drafts begin alike, and in one pool blocks of any
of them are read in one pass."""


class ChildServer:
    """`specsteer-cloud serve` on a free port, with a token of its own."""

    def __init__(
        self,
        generalist: Path,
        base: Path,
        engine: EngineSettings | None = None,
        *,
        one_text: bool = False,
    ) -> None:
        """Start it with the same engine settings as the device; `wait` until ready.
        With caches for `one_text` at a time it is ready sooner."""
        self.token = secrets.token_urlsafe(24)
        self.url = ""
        self._complaints: list[str] = []
        self._connection: Connection | None = None
        self._was_ready = False
        engine = engine or EngineSettings()
        # This process drafts while the child verifies.
        threads = engine.threads or threads_beside(base)
        options = ["--threads", str(threads)]
        options += ["--engine", engine.engine, "--device", engine.device]
        options += ["--precision", engine.precision]
        if engine.gpu_layers is not None:
            options += ["--gpu-layers", str(engine.gpu_layers)]
        options += ["--flash-attention"] * engine.flash_attention
        options += ["--exact"] * engine.exact
        one_text = one_text or engine.exact
        several = ["--kv-tokens", _POOL]
        options += ["--sessions", "1"] if one_text else several
        self._process = python_child.start(
            *("cloud_api.cli:program", "serve", "--port", "0"),
            *("--generalist", str(generalist.absolute())),
            *("--base", str(base.absolute())),
            *options,
            *("--token-from-stdin", "--exit-with-stdin"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # Ctrl-C is for us; the child ends with its pipe.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # Windows
        )
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended: `wait` says why
            self._process.stdin.write(self.token + "\n")
            self._process.stdin.flush()
        self._announced: Queue[str] = Queue()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        _in_thread(self._announced.put, self._process.stdout)
        _in_thread(self._complaints.append, self._process.stderr)

    def wait(self, stop: threading.Event | None = None) -> None:
        """Return when the server has its models.

        Raises CloudRefusedError with its reason, CloudUnreachableError if it ended or
        takes too long, StoppedError.
        """
        if self._was_ready:
            return
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if stop and stop.is_set():
                raise errors.StoppedError("stopped while the server was loading")
            if self.ended:
                raise self._failure()
            if self._ready():
                return
        raise errors.CloudUnreachableError("the server on this machine did not start")

    @property
    def ended(self) -> bool:
        """Whether the child has ended, for whatever reason."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End the child at once: it serves nobody else, and keeps nothing."""
        self._process.kill()
        self._process.wait()
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        for pipe in filter(None, pipes):
            pipe.close()

    def _ready(self) -> bool:
        # The HTTP client is loaded while the child starts.
        from edge_app.transport.client import Connection

        if self._connection is None:
            try:
                line = self._announced.get(timeout=_POLL_SECONDS)
            except Empty:
                return False
            self.url = json.loads(line)["url"]
            # What asks our own child whether it is ready belongs to no text.
            self._connection = Connection(self.url, self.token, lambda _: None)
        try:
            self._connection.request("ready", "GET", "/readyz")
        except (errors.CloudBusyError, errors.CloudUnreachableError):
            time.sleep(_POLL_SECONDS)
            return False
        self._connection.close()
        self._was_ready = True
        return True

    def _failure(self) -> errors.CloudError:
        self._process.wait()
        time.sleep(_POLL_SECONDS)  # the reader thread takes the last line
        last = self._complaints[-1].strip() if self._complaints else ""
        if last.startswith(_EXPLAINED):
            return errors.CloudRefusedError(last.removeprefix(_EXPLAINED))
        return errors.CloudUnreachableError(
            "the server on this machine ended while it was loading "
            f"(exit status {self._process.returncode})"
        )


def _in_thread(take: Callable[[str], None], pipe: object) -> None:
    def read() -> None:
        try:
            for line in pipe:  # type: ignore[attr-defined]
                take(line)
        except ValueError:
            return  # the pipe was closed

    threading.Thread(target=read, daemon=True).start()
