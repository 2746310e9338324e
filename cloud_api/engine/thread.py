"""One thread that owns both models; the event loop hands it rounds.

Whenever it is free it takes every round that waits, one per session, and reads each
model once for all of them. A long prompt is read in chunks behind the rounds that are
ready, so that nobody waits for another's prompt; a text whose first block has not come
yet is read in small ones, while no block waits at all.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable

from cloud_api import logs
from cloud_api.engine.batch_engine import Models
from cloud_api.engine.scheduler import Result, Round, Scheduler
from cloud_api.errors import StoppingError
from decoding_core.errors import DecodingError


class EngineThread:
    """Loads the models, then judges rounds until it is closed."""

    def __init__(self, load: Callable[[], Models]) -> None:
        self._load = load
        self._commands: queue.SimpleQueue[Round | str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._closing = False
        self.models: Models | None = None
        """None while they are being loaded."""
        self.failure: str | None = None
        """Why the models could not be loaded; the server then ends."""

    def start(self) -> None:
        """Begin to load the models."""
        self._thread.start()

    async def run(self, round_: Round) -> Result:
        """What becomes of a round; raises what the engine raised."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        round_.done = lambda result: _settle(loop, future, result)
        self._commands.put(round_)
        return await future

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
        models = self._loaded()
        if models is None:
            return
        self.models = models
        rounds = Scheduler(models)
        try:
            while self._take(rounds):
                rounds.step()
        except Exception:  # noqa: BLE001 - logged by type; the server ends
            # Not even clearing the caches worked: the server must start anew.
            logs.fault("the engine thread")
            self.failure = "the engine failed and cannot go on"
        self._take_rest(rounds)
        rounds.drop_all(StoppingError("the server is stopping"))
        for model in models.each():
            model.close()

    def _take_rest(self, rounds: Scheduler) -> None:
        """Take what nobody will judge any more, so that it is answered."""
        while not self._commands.empty():
            command = self._commands.get()
            if isinstance(command, Round):
                rounds.add(command)

    def _loaded(self) -> Models | None:
        try:
            return self._load()
        except DecodingError as error:
            self.failure = str(error)
        except Exception as error:  # noqa: BLE001 - logged by type; the server ends
            logs.fault("loading the models")
            self.failure = f"the models could not be loaded ({type(error).__name__})"
        return None

    def _take(self, rounds: Scheduler) -> bool:
        """Take every command that waits, at least one when there is nothing to do;
        False at the end."""
        while not self._closing:
            try:
                command = self._commands.get(block=not rounds.busy)
            except queue.Empty:
                return True
            if isinstance(command, Round):
                rounds.add(command)
            elif command is not None:
                rounds.release(command)
        return False


def _settle(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[Result], result: Result
) -> None:
    """Give a result from the engine thread to a future of the loop."""

    def give() -> None:
        if future.cancelled():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)

    if not loop.is_closed():
        loop.call_soon_threadsafe(give)
