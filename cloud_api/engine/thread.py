"""The thread that owns the models of the server: it loads them, reads with them, and
frees them.

The event loop hands rounds to the `EngineThread`, which has its `Scheduler` take steps
while there is something to read.
"""

from __future__ import annotations

import asyncio
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from cloud_api.engine.models import (
    BLOCK,
    LoadProgress,
    ModelOptions,
    Models,
    ServedModel,
    StockAddress,
)
from cloud_api.engine.scheduler import Result, Round, Scheduler
from cloud_api.errors import StoppingError, log_fault
from decoding_core.errors import DecodingError
from decoding_core.messages import Verdict
from models.running.interface import Model, TextSlots
from models.running.settings import usable_cores

_REST_SECONDS = 0.01
"""How soon models that somebody else needs are asked again whether they may rest."""
_LONGEST_CONTEXT = 8192  # caches for all that a large model can read would fill memory


def load_models(options: ModelOptions, progress: LoadProgress | None = None) -> Models:
    """Load the generalist, and the base if it is to run here.

    Raises:
        ModelError: one cannot be loaded.
        EngineError: there is no memory for the texts.
        DecodingError: as `connect_models` does, if the generalist is on a server.
    """
    if isinstance(options.generalist, StockAddress):
        # Its HTTP client is loaded for those alone who have named a server.
        from cloud_api.engine.stock_models import connect_models

        return connect_models(options, options.generalist)
    assert not isinstance(options.base, StockAddress)
    # An engine costs a second to import; the server must listen before that.
    from models.running.loading import load_model
    from models.running.machine import fit_threads

    progress = progress or LoadProgress()
    settings = replace(options.engine, kv_tokens=options.kv_tokens)
    paths = {"generalist": options.generalist}
    if options.base is not None:
        paths["base"] = options.base
    threads: list[int] = []

    def loaded(role: str) -> Model:
        progress.role, progress.share = role, 0.0
        note = partial(setattr, progress, "share")
        return load_model(paths[role], settings, progress=note)

    def opened(role: str, model: Model | None = None) -> TextSlots:
        model = model or loaded(role)
        context = model.open(options.slots, length, owns_model=True)
        threads.append(fit_threads(context, BLOCK))
        return context

    found = {role: loaded(role) for role in paths}
    if len({model.vocabulary_id for model in found.values()}) > 1:
        found.pop("base").close()
        sys.stderr.write(
            f"{options.base} has another vocabulary than {options.generalist}: the "
            "devices run the base themselves\n"
        )
    names = found["generalist"].vocabulary.names()
    trained = min(model.context_length for model in found.values())
    length = options.context_length or min(trained, _LONGEST_CONTEXT)
    length = min(length, options.kv_tokens or length)
    generalist, *base = (
        ServedModel(opened(role, model), partial(opened, role))
        for role, model in found.items()
    )
    progress.role = ""
    # llama.cpp's threads spin while they wait for each other: with fewer cores than
    # threads, two models at once are slower than one after the other.
    at_once = sum(threads) <= usable_cores()
    return Models(
        generalist,
        base[0] if base else None,
        at_once,
        names=names,
        text=generalist.model,
        kv_tokens=options.kv_tokens,
        unload_seconds=options.unload_seconds,
    )


class EngineThread:
    """Loads the models, then verifies rounds until it is closed."""

    def __init__(self, load: Callable[[], Models]) -> None:
        self._load = load
        self._commands: queue.SimpleQueue[Round | str | None] = queue.SimpleQueue()
        """Rounds, ids of sessions that ended, and None to wake it at the end."""
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._closing = False
        self.models: Models | None = None
        """None while they are being loaded."""
        self.failure: str | None = None
        """Why the models could not be loaded; the server then ends."""

    def start(self) -> None:
        """Begin to load the models."""
        self._thread.start()

    def submit(self, round_: Round) -> asyncio.Future[Verdict]:
        """Hand over a round at once; the verdict on its block, or what the engine
        raised. To be called on the event loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Verdict] = loop.create_future()

        def settle(result: Result) -> None:
            if future.cancelled():
                return
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

        # It is called in the engine thread.
        round_.done = lambda result: _call_in(loop, partial(settle, result))
        round_.came = time.perf_counter()
        self._commands.put(round_)
        return future

    def warm(self, round_: Round) -> None:
        """Read a text before its first block comes; nobody waits for it."""
        self._commands.put(round_)

    def release(self, session_id: str) -> None:
        """Free what a session that ended holds."""
        self._commands.put(session_id)

    def close(self, seconds: float) -> bool:
        """End the thread; False when it is still in a call after `seconds`."""
        self._closing = True
        self._commands.put(None)
        if self.models is not None:
            for model in self.models.each():
                model.interrupt()
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        """The thread, from loading the models to closing them."""
        try:
            models = self._load()
        except DecodingError as error:
            self.failure = str(error)
            return
        except Exception as error:  # noqa: BLE001 - logged by type; the server ends
            log_fault("loading the models")
            name = type(error).__name__
            self.failure = f"the models could not be loaded ({name})"
            return
        self.models = models
        scheduler = Scheduler(models)
        try:
            while self._take_commands(scheduler, models.unload_seconds):
                scheduler.step()
        except Exception:  # noqa: BLE001 - logged by type; the server ends
            # Not even clearing the caches worked: the server must start anew.
            log_fault("the engine thread")
            self.failure = "the engine failed and cannot go on"
        while not self._commands.empty():
            # Nobody will verify these rounds any more, but each is to be answered.
            command = self._commands.get()
            if isinstance(command, Round):
                scheduler.add(command)
        scheduler.close(StoppingError("the server is stopping"))
        for model in models.each():
            model.close()

    def _take_commands(
        self, scheduler: Scheduler, unload_seconds: float | None
    ) -> bool:
        """Take every command that waits; while a step would do nothing, wait for one,
        or until a step would do something; False at the end. The models rest when no
        command has come for `unload_seconds`."""
        while not self._closing:
            pause = timeout = scheduler.pause()
            if pause is None and unload_seconds is not None:
                timeout = max(unload_seconds, _REST_SECONDS)
            try:
                command = self._commands.get(pause != 0.0, timeout)
            except queue.Empty:
                if pause is None:
                    scheduler.rest()
                return True
            if isinstance(command, Round):
                scheduler.add(command)
            elif command is not None:
                scheduler.release(command)
        return False


def _call_in(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Call something on an event loop from another thread, while the loop is there."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)
