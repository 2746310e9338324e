"""Whether llama.cpp's extra buffer types (AMX, repacked weights) work on this machine.

Some builds crash there with every quantised model. A child process tries, once per
machine and build; the answer is cached. `SPECSTEER_EXTRA_BUFFERS` (on, off) overrides.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from models import python_child
from models.engines.llama_library import load_library
from models.files import locate
from models.folders import state_folder
from models.owner_only import write_whole

OVERRIDE = "SPECSTEER_EXTRA_BUFFERS"
_SECONDS = 60
_TRIAL = "models.engines.probe_child:main"


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether extra buffers are used, and why."""

    works: bool
    reason: str


def extra_buffers_work() -> bool:
    """Whether to use extra buffer types."""
    return probe().works


@cache
def probe() -> Answer:
    """The override, the cached answer, or that of a child process."""
    wish = os.environ.get(OVERRIDE, "").lower()
    if wish in ("on", "off"):
        return Answer(wish == "on", f"set by {OVERRIDE}")
    kept = state_folder() / "engine-probe.json"
    key = _machine_and_build()
    answer = _read(kept, key)
    if answer is None:
        answer = _try_in_child(locate("specialist"))
        _write(kept, key, answer)
    return answer


def _try_in_child(model: Path) -> Answer:
    child = python_child.start(
        *(_TRIAL, str(model.absolute())),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    with child:
        try:
            _, complaints = child.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            return Answer(False, f"the trial took over {_SECONDS} s")
    if child.returncode < 0:
        return Answer(False, f"the trial was ended by signal {-child.returncode}")
    if child.returncode:
        return Answer(False, "the trial failed: " + _last_line(complaints))
    return Answer(True, "a trial in a child process gave the same results")


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no reason given"


def _machine_and_build() -> str:
    library = load_library()
    parts = [
        platform.node(),
        platform.machine(),  # not `processor`, which runs a program to find out
        str(library.llama_print_system_info()),
        str(Path(library.__file__).stat().st_mtime_ns),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _read(kept: Path, key: str) -> Answer | None:
    try:
        entry = json.loads(kept.read_text())
        return Answer(**entry["answer"]) if entry["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(kept: Path, key: str, answer: Answer) -> None:
    body = json.dumps({"key": key, "answer": asdict(answer)})
    with suppress(OSError):  # an answer that cannot be kept is sought again
        write_whole(kept, body.encode())
