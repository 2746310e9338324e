"""What llama.cpp can use on this machine: accelerators, buffer types, threads.

Some builds crash with the extra buffer types (AMX, repacked weights): a child process
tries them once per machine and build. The best number of threads is measured when a
model is first loaded to write or to serve. Both answers are kept in notes;
`SPECSTEER_EXTRA_BUFFERS` (on, off) and `SPECSTEER_THREADS` override them."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from base import python_child
from base.owner_only import write_whole
from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from decoding_core.sampling import Floats
from models.files import locate
from models.folders import machine_folder
from models.running.interface import TextSlots
from models.running.settings import EngineSettings, default_threads, usable_cores

_NVIDIA_CARDS = Path("/proc/driver/nvidia/gpus")  # where the driver of Linux names them
_CARD = re.compile(r"^Model:\s*(\S.*)$", re.MULTILINE)
_MOST_CARDS = 64


def layers_on_accelerator(settings: EngineSettings) -> int:
    """How many layers llama.cpp is told to run on an accelerator, -1 for all: as the
    settings say, else all if the build finds a device. None if figures must be the
    same bits, which only a CPU gives."""
    if settings.gpu_layers is not None:
        return settings.gpu_layers
    return -1 if build_finds_device() and not settings.exact else 0


def build_finds_device() -> bool:
    """Whether llama.cpp was built with a library for a device, and sees one."""
    return bool(_llama().llama_supports_gpu_offload())


def describe_accelerators(settings: EngineSettings) -> str:
    """A sentence for a person: which there are, whether one is used, and what to do."""
    found, layers = _accelerators(), layers_on_accelerator(settings)
    names = " and ".join(found)
    if build_finds_device():
        used = "no layer" if layers == 0 else f"{layers} layers"
        used = "all layers" if layers < 0 else used
        why = "" if settings.gpu_layers is None else ", as gpu_layers says"
        return f"{names or 'a device that llama.cpp finds'}: {used} run there{why}"
    if not found:
        return "none found (no nvidia-smi, no Apple silicon): models run on the CPU"
    library, package = next(iter(found.values())), "llama-cpp-python"
    words = ["-m", "pip", "install", "--force-reinstall", "--no-cache-dir", "--no-deps"]
    words += ["--no-binary", package, f"{package}=={_llama().__version__}"]
    command = shlex.join([sys.executable or "python", *words])
    return (
        f"{names} is here, and llama.cpp was built without {library}, so all "
        "layers run on the CPU; rebuilt, all could run there. How much faster that is "
        "was not measured by this project: 'specsteer models check' before and after "
        f'tells. To rebuild: CMAKE_ARGS="-DGGML_{library.upper()}=on" {command}'
    )


def _accelerators() -> dict[str, str]:
    """The devices that this machine seems to have, and the library by which llama.cpp
    uses each; no program is started to ask."""
    found, cards = {}, list[str]()
    with suppress(OSError):
        for folder in sorted(_NVIDIA_CARDS.iterdir())[:_MOST_CARDS]:
            text = (folder / "information").read_text("utf-8", "replace")
            cards += [one_line(name.strip())[:80] for name in _CARD.findall(text)]
    if cards or shutil.which("nvidia-smi"):
        named = ", ".join(cards) or "nvidia-smi is there, and names no card"
        found[f"NVIDIA ({named})"] = "CUDA"
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        found["Apple silicon"] = "Metal"
    return found


def _llama() -> Any:
    """llama.cpp, which other engines do without."""
    from models.running.llama_library import load_library

    return load_library()


def reading_id(slots: TextSlots) -> str:
    """A hash of all that decides what the caches of slots hold after some tokens: this
    machine and its llama.cpp, the model's file, the adapter, and every setting."""
    worn, path = slots.adapter, slots.model.path
    facts = [_machine_and_build(), type(slots).__name__, _file_id(path)]
    facts += ["" if worn is None else f"{_file_id(worn.file)} {worn.scale!r}"]
    facts += [repr(slots.model.settings), f"{slots.slots} {slots.context_length}"]
    return hashlib.sha256("\n".join(facts).encode("utf-8", "replace")).hexdigest()


def _file_id(path: Path) -> str:
    """What changes if another file is put in the place of this one, or it is written
    into; the last change of the inode cannot be set back."""
    found = path.stat()
    times = f"{found.st_mtime_ns} {found.st_ctime_ns}"
    return f"{path.absolute()} {found.st_size} {found.st_ino} {times}"


def _read_note(name: str) -> dict[str, Any]:
    """The facts of a note, if it is of this machine and this llama.cpp; else empty."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        note = json.loads((machine_folder() / name).read_text())
        if note["machine"] == _machine_and_build():
            return dict(note["facts"])
    return {}


def _write_note(name: str, facts: dict[str, Any]) -> None:
    """Keep the facts; those that cannot be kept are measured again."""
    note = {"machine": _machine_and_build(), "facts": facts}
    with suppress(OSError):
        write_whole(machine_folder() / name, json.dumps(note).encode())


def _machine_and_build() -> str:
    """A hash of this machine and this llama.cpp."""
    library = _llama()
    facts = [
        platform.node(),
        platform.machine(),  # not `processor`, which runs a program to find out
        str(library.llama_print_system_info()),
        str(library.__version__),
        str(Path(library.__file__).stat().st_mtime_ns),
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


BUFFERS_VARIABLE = "SPECSTEER_EXTRA_BUFFERS"
_PROBE, _THREADS = "engine-probe.json", "engine-threads.json"
_TRIAL_SECONDS = 60
_TRIAL = "models.running.machine:trial"
_TOLERANCE = 1.0
"""Logits differ by less with other kernels, which round otherwise; by far more with a
broken one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether extra buffers are used, and why."""

    works: bool
    reason: str


@cache
def probe() -> Answer:
    """The override, the cached answer, or that of a child process."""
    wish = os.environ.get(BUFFERS_VARIABLE, "").lower()
    if wish in ("on", "off"):
        return Answer(wish == "on", f"set by {BUFFERS_VARIABLE}")
    with suppress(TypeError):
        return Answer(**_read_note(_PROBE))
    answer = _try_in_child(locate("specialist"))
    _write_note(_PROBE, asdict(answer))
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
            _, complaints = child.communicate(timeout=_TRIAL_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            return Answer(False, f"the trial took over {_TRIAL_SECONDS} s")
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


THREADS_VARIABLE = "SPECSTEER_THREADS"
_MEASURING_SECONDS = 0.3
"""Afterwards no further number of threads is tried: so slow a model gains by every
core."""
_STEPS = 3
_AS_FAST = 1.05
"""Fewer threads are taken if they need up to this much of the best time: other programs
want the cores as well."""
_ALONE = 0.8
"""Share of a pass that its threads must have worked, else others had the cores: while
they wait for each other, these threads spin."""

Milliseconds = dict[int, float]  # of a step, by the number of threads


def physical_cores() -> int:
    """Cores that this process may use, hyper-threads of one core counted once: they
    share its units."""
    siblings = set()
    for core in os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ():
        path = f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"
        try:
            siblings.add(Path(path).read_text())
        except OSError:
            return usable_cores()
    return len(siblings) or usable_cores()


def fit_threads(context: TextSlots, tokens: int, most: int | None = None) -> int:
    """Set the threads of an empty context to the best number for passes of N tokens,
    measured if it is unknown; returns that number. `most` leaves cores to another model
    that runs beside single tokens; a prompt is read with all, as no block can be
    verified before. A number in the settings stays. Raises InvalidSettingsError if
    `SPECSTEER_THREADS` is no number of threads."""
    if context.model.settings.threads is not None:
        return context.model.settings.threads
    if (wished := threads_wished()) is not None:
        context.use_threads(wished, wished)
        return wished
    most = min(most or physical_cores(), physical_cores())
    known = known_times(context.model.path, tokens)
    if most > 1 and most not in known and not context.position(0):
        halves = [most >> times for times in range(most.bit_length())]
        known |= _measure(context, tokens, halves)
        if most in known:
            _keep(context.model.path, tokens, known)
    best = best_of(known, most)
    # A prompt has enough tokens at once for every core.
    context.use_threads(best, best if tokens > 1 else physical_cores())
    return best


def threads_beside(specialist: Path) -> int:
    """How many threads a server may have beside a device with this specialist: the
    cores that are left. Raises as `fit_threads` does."""
    if (wished := threads_wished()) is not None:
        return wished
    own = best_of(known_times(specialist, 1), default_threads())
    return max(1, physical_cores() - own)


def describe_threads(specialist: Path, *, has_server: bool) -> str:
    """A sentence on how many threads are used, and why; nothing is measured. Raises as
    `fit_threads` does."""
    if (wished := threads_wished()) is not None:
        return f"{wished} a model, set by {THREADS_VARIABLE}"
    most = physical_cores() if has_server else default_threads()
    known = known_times(specialist, 1)
    words = f"{best_of(known, most)} of {physical_cores()} cores for the specialist"
    if known:
        each = (f"{count}: {spent:.1f} ms" for count, spent in sorted(known.items()))
        words += f" ({', '.join(each)} a token)"
    elif most > 1:
        words += ", until it is measured with the first text"
    if not has_server:
        words += f"; {threads_beside(specialist)} for the server beside it"
    return words


def threads_wished() -> int | None:
    """The number in `SPECSTEER_THREADS`; raises InvalidSettingsError if invalid."""
    wish = os.environ.get(THREADS_VARIABLE, "")
    if not wish:
        return None
    if not (wish.isascii() and wish.isdigit() and 1 <= int(wish) <= 512):
        raise InvalidSettingsError(
            f"{THREADS_VARIABLE} must be a whole number between 1 and 512, not {wish!r}"
        )
    return int(wish)


def best_of(known: Milliseconds, most: int) -> int:
    """The fewest threads, `most` at the most, that are about as fast as any measured;
    half of the cores if none was."""
    times = {count: spent for count, spent in known.items() if count <= most}
    if not times:
        return min(most, default_threads())
    enough = _AS_FAST * min(times.values())
    return min(count for count, spent in times.items() if spent <= enough)


def known_times(model: Path, tokens: int) -> Milliseconds:
    """The measured times of a model's passes of N tokens on this machine; empty if
    there are none."""
    with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
        kept = _read_note(_THREADS)[_name(model, tokens)]
        return {int(count): float(spent) for count, spent in kept.items()}
    return {}


def _measure(context: TextSlots, tokens: int, counts: list[int]) -> Milliseconds:
    """The times of these numbers of threads, the largest first, as far as there is
    time; empty if other programs wanted the cores too. The context is empty again
    afterwards."""
    sequence, token_ids = context.sequence(), list(range(tokens))
    began, found, late = time.perf_counter(), Milliseconds(), False
    for count in counts:
        if late:
            break
        context.use_threads(count, count)
        passes: list[tuple[float, float]] = []
        while len(passes) <= _STEPS and not late:
            started, worked = time.perf_counter(), time.process_time()
            sequence.evaluate(token_ids)
            ended = time.perf_counter()
            passes.append((ended - started, time.process_time() - worked))
            late = ended - began > _MEASURING_SECONDS
        passes = passes[1:] or passes  # the first one woke the threads
        spent = sum(seconds for seconds, _ in passes)
        if sum(worked for _, worked in passes) < _ALONE * count * spent:
            found = Milliseconds()
            break
        found[count] = 1000 * min(seconds for seconds, _ in passes)
    sequence.rollback(0)
    return found


def _keep(model: Path, tokens: int, known: Milliseconds) -> None:
    entry = {_name(model, tokens): {str(count): known[count] for count in known}}
    _write_note(_THREADS, _read_note(_THREADS) | entry)


def _name(model: Path, tokens: int) -> str:
    """The name of an entry: another file of the same path has another."""
    found = model.stat()
    key = f"{model.absolute()}\n{found.st_size}\n{found.st_mtime_ns}\n{tokens}"
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:16]
