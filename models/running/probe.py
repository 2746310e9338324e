"""Whether llama.cpp's extra buffer types (AMX, repacked weights) work on this machine.

Some builds crash there with every quantised model. A child process tries, once per
machine and build; the answer is cached. `SPECSTEER_EXTRA_BUFFERS` (on, off) overrides.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from base import python_child
from base.owner_only import write_whole
from decoding_core.sampling import Floats
from models.files import locate
from models.folders import machine_folder
from models.running.settings import EngineSettings

OVERRIDE = "SPECSTEER_EXTRA_BUFFERS"
_SECONDS = 60
_TRIAL = "models.running.probe:trial"
_TOLERANCE = 1.0
"""Logits differ by less with other kernels, which round otherwise; by far more with a
broken one."""


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
    key = machine_and_build()
    kept = machine_folder() / "engine-probe.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        entry = json.loads(kept.read_text())
        if entry["key"] == key:
            return Answer(**entry["answer"])
    answer = _try_in_child(locate("specialist"))
    body = json.dumps({"key": key, "answer": asdict(answer)})
    with suppress(OSError):  # an answer that cannot be kept is sought again
        write_whole(kept, body.encode())
    return answer


def machine_and_build() -> str:
    """A hash of what a measured fact is kept for: this machine and this llama.cpp."""
    from models.engines.llama_cpp import load_library  # other engines do without

    library = load_library()
    facts = [
        platform.node(),
        platform.machine(),  # not `processor`, which runs a program to find out
        str(library.llama_print_system_info()),
        str(Path(library.__file__).stat().st_mtime_ns),
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


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
        name = signal.Signals(-child.returncode).name
        return Answer(False, f"they crash on this machine ({name}), nothing needs them")
    if child.returncode:
        last = (complaints.strip().splitlines() or ["no reason given"])[-1]
        return Answer(False, f"the trial failed: {last}")
    return Answer(True, "a trial in a child process gave the same results")


def trial() -> int:
    """What the child process runs, and may crash in: 0 when a block and a single step
    give the same logits with and without extra buffers."""
    from models.engines.llama_cpp import LlamaContext, LlamaModel

    path = Path(sys.argv[1])
    logits: list[Floats] = []
    for extra_buffers in (False, True):
        model = LlamaModel(path, EngineSettings(extra_buffers=extra_buffers))
        context = LlamaContext(model, context_length=256)
        sequence = context.sequence()
        block = sequence.evaluate(list(range(10, 50)), rows=40)
        step = sequence.evaluate([50])
        context.close()
        model.close()
        logits.append(np.concatenate([block, step]))
    plain, extra = logits
    if not np.isfinite(extra).all() or np.abs(plain - extra).max() > _TOLERANCE:
        sys.stderr.write("extra buffer types change the results\n")
        return 1
    return 0
