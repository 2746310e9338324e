"""How many threads a model runs fastest with on this machine: measured once, and kept.

It is measured where a model is first loaded to write or to serve: some steps with each
number of threads that may be best, in an empty context, for less than half a second.
`SPECSTEER_THREADS` sets a number where the settings name none; nothing is measured
then.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path

from base.owner_only import write_whole
from decoding_core.errors import InvalidSettingsError
from models.folders import machine_folder
from models.running.interface import TextSlots
from models.running.probe import machine_and_build
from models.running.settings import default_threads, usable_cores

OVERRIDE = "SPECSTEER_THREADS"
_SECONDS = 0.3
"""After so long no further number of threads is tried: a model that is so slow gains by
every core."""
_STEPS = 3
_AS_FAST = 1.05
"""Fewer threads are taken where they need no more than this much of the best time: what
else runs here wants the cores as well."""
_ALONE = 0.8
"""Share of a pass that its threads must have worked, else others had the cores: while
they wait for each other, these threads spin."""
_SLOWER = 1.1
"""Where fewer threads take this much longer, even fewer are not tried."""

Milliseconds = dict[int, float]
"""Of a step, by the number of threads."""


def physical_cores() -> int:
    """Cores that this process may use, of those that share their units (hyper-threads)
    one only: a second thread on one has nothing to compute with."""
    siblings = set()
    for core in os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ():
        path = f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"
        try:
            siblings.add(Path(path).read_text())
        except OSError:
            return usable_cores()
    return len(siblings) or usable_cores()


def fit_threads(context: TextSlots, tokens: int, most: int | None = None) -> int:
    """Set the threads of an empty context to the best number for passes of so many
    tokens, measured if it is not known yet; that number. `most` leaves cores to another
    model that runs beside single tokens; a prompt is read with all, as no block is
    there to be verified before. A number that was set is left as it is.

    Raises:
        InvalidSettingsError: `SPECSTEER_THREADS` is no number of threads.
    """
    if context.model.settings.threads is not None:
        return context.model.settings.threads
    if (wished := threads_wished()) is not None:
        context.use_threads(wished, wished)
        return wished
    most = min(most or physical_cores(), physical_cores())
    known = known_times(context.model.path, tokens)
    if most > 1 and most not in known and not context.position(0):
        known |= _measure(context, tokens, _candidates(most))
        if most in known:
            _keep(context.model.path, tokens, known)
    best = best_of(known, most)
    # A prompt is so many tokens at once that every core is worth it.
    context.use_threads(best, best if tokens > 1 else physical_cores())
    return best


def threads_beside(specialist: Path) -> int:
    """How many threads a server may have on the machine whose device runs this
    specialist: the cores that are left. Raises as `fit_threads` does."""
    if (wished := threads_wished()) is not None:
        return wished
    own = best_of(known_times(specialist, 1), default_threads())
    return max(1, physical_cores() - own)


def describe_threads(specialist: Path, *, has_server: bool) -> str:
    """A sentence on how many threads are used, and why; nothing is measured. Raises as
    `fit_threads` does."""
    if (wished := threads_wished()) is not None:
        return f"{wished} a model, set by {OVERRIDE}"
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
    """The number that `SPECSTEER_THREADS` names; raises InvalidSettingsError for none
    that can be."""
    wish = os.environ.get(OVERRIDE, "")
    if not wish:
        return None
    if not (wish.isascii() and wish.isdigit() and 1 <= int(wish) <= 512):
        raise InvalidSettingsError(
            f"{OVERRIDE} must be a whole number between 1 and 512, not {wish!r}"
        )
    return int(wish)


def best_of(known: Milliseconds, most: int) -> int:
    """The fewest threads, no more than `most`, that are about as fast as any measured;
    where none was, half of the cores at most."""
    times = {count: spent for count, spent in known.items() if count <= most}
    if not times:
        return min(most, default_threads())
    enough = _AS_FAST * min(times.values())
    return min(count for count, spent in times.items() if spent <= enough)


def known_times(model: Path, tokens: int) -> Milliseconds:
    """What was measured of a model's passes of so many tokens on this machine; empty
    where nothing was."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        kept = _read()[_name(model, tokens)]
        return {int(count): float(spent) for count, spent in kept.items()}
    return {}


def _candidates(most: int) -> list[int]:
    """Numbers of threads that may be best: all, half of them, and so on."""
    counts = [most]
    while counts[-1] > 1:
        counts.append(counts[-1] // 2)
    return counts


def _measure(context: TextSlots, tokens: int, counts: list[int]) -> Milliseconds:
    """The times of these numbers of threads, the largest first, as far as time and
    sense allow; empty where other programs wanted the cores too. The context is empty
    again afterwards."""
    sequence, token_ids = context.sequence(), list(range(tokens))
    began, found = time.perf_counter(), Milliseconds()
    for count in counts:
        context.use_threads(count, count)
        passes: list[tuple[float, float]] = []
        late = False
        while len(passes) <= _STEPS and not late:
            started, worked = time.perf_counter(), time.process_time()
            sequence.evaluate(token_ids)
            ended = time.perf_counter()
            passes.append((ended - started, time.process_time() - worked))
            late = ended - began > _SECONDS
        if len(passes) > 1:
            del passes[0]  # it woke the threads
        spent = sum(seconds for seconds, _ in passes)
        if sum(worked for _, worked in passes) < _ALONE * count * spent:
            found = Milliseconds()
            break
        fastest = min(found.values(), default=None)
        found[count] = 1000 * min(seconds for seconds, _ in passes)
        if late or (fastest is not None and found[count] > _SLOWER * fastest):
            break
    sequence.rollback(0)
    return found


def _keep(model: Path, tokens: int, known: Milliseconds) -> None:
    """Add to the note what was measured; one that cannot be kept is measured again."""
    try:
        entries = _read()
    except (OSError, ValueError, KeyError, TypeError):
        entries = {}
    entries[_name(model, tokens)] = {str(count): known[count] for count in known}
    body = {"machine": machine_and_build(), "milliseconds": entries}
    with suppress(OSError):
        write_whole(_path(), json.dumps(body).encode())


def _read() -> dict[str, dict[str, float]]:
    """The entries of the note; raises KeyError where it is of another machine."""
    body = json.loads(_path().read_text())
    if body["machine"] != machine_and_build():
        raise KeyError("machine")
    entries: dict[str, dict[str, float]] = body["milliseconds"]
    return entries


def _path() -> Path:
    return machine_folder() / "engine-threads.json"


def _name(model: Path, tokens: int) -> str:
    """The name of an entry: another file of the same path has another."""
    found = model.stat()
    key = f"{model.absolute()}\n{found.st_size}\n{found.st_mtime_ns}\n{tokens}"
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:16]
