"""A real vLLM server on loopback, from the environment that `make vllm` sets up, and
processes of ours before it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

from edge_app.transport.client import CloudVerifier
from tests.waiting import PATIENCE, ROOT, moments

PLACE = Path(os.environ.get("SPECSTEER_VLLM", ROOT / ".venv-vllm"))
PROGRAM = PLACE / "bin" / "vllm"
TOKEN = "t" * 24


class VllmServer:
    """Serves the model in a folder, in float32."""

    def __init__(self, folder, log, *options):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = log
        self._command = [
            *(PROGRAM, "serve", folder, "--served-model-name", "generalist"),
            *("--host", "127.0.0.1", "--port", str(self.port)),
            *("--dtype", "float32", "--enforce-eager", "--max-model-len", "2048"),
            # The prefix cache keeps full blocks; on CPUs they have 128 tokens else.
            *("--max-logprobs", "200", "--block-size", "32", *options),
        ]
        self._process = None
        self.start()

    def start(self, wait=True):
        """Start it; by default, wait until it answers."""
        own = {
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_CPU_OMP_THREADS_BIND": f"0-{(os.cpu_count() or 1) - 1}",
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **own},
                # Its engine is a process of its own, and is killed with it.
                start_new_session=True,
            )
        if wait:
            try:
                self.wait()
            except AssertionError:
                self.kill()
                raise

    def wait(self):
        """Until it answers: minutes, if other work has the cores."""
        log = self._log
        for _ in moments(lambda: log.read_text()[-2000:], 0.2, times=5):
            assert self._process.poll() is None, log.read_text()[-2000:]
            with suppress(urllib.error.URLError, ConnectionError):
                urllib.request.urlopen(f"{self.url}/health", timeout=PATIENCE).close()
                return

    def kill(self):
        """As by a power cut."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Gateway:
    """`specsteer-cloud serve`, which comes back at the same port."""

    def __init__(self, *options):
        self._options, self.port = options, 0
        self.start()

    def start(self):
        """Start it and wait until it is ready."""
        command = sys.executable, "-m", "cloud_api", "serve", "--port", str(self.port)
        own = {"SPECSTEER_CLOUD_TOKEN": TOKEN, "SPECSTEER_EXTRA_BUFFERS": "off"}
        self._process = subprocess.Popen(
            [*command, *map(str, self._options)],
            stdout=subprocess.PIPE,
            env={**os.environ, **own},
            text=True,
        )
        self.url = json.loads(self._process.stdout.readline())["url"]
        self.port = int(self.url.rsplit(":", 1)[1])
        for _ in moments("the server is not ready", pause=0.1):
            assert self._process.poll() is None
            with suppress(urllib.error.URLError):
                urllib.request.urlopen(f"{self.url}/readyz", timeout=PATIENCE).close()
                return

    def end(self, number=signal.SIGTERM):
        self._process.send_signal(number)
        self._process.wait()
        self._process.stdout.close()

    def verifier(self, emit):
        return CloudVerifier(self.url, TOKEN, emit)


@contextmanager
def gateway(vllm, *options):
    """A server of ours before the vLLM."""
    exact = "--precision", "float32", "--threads", "1"
    server = Gateway("--generalist-url", vllm.url, *options, *exact)
    try:
        yield server
    finally:
        server.end()
