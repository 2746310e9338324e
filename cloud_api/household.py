"""The authority of a household's server, which knows all tokens from memory.

The file of the people is read again whenever another process has changed it, which is
looked for several times a second. So no request waits for the disk, and a revoked token
is refused, and its streams are ended, within a second. When tokens were last used and
how many were refused is written now and then, and kept while the disk is full.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from cloud_api.auth import Caller, digest_of
from cloud_api.errors import PeopleError, log_fault
from cloud_api.people import Device, People, select_devices

LOOK_SECONDS = 0.2  # how often changes by other processes are looked for
NOTE_SECONDS = 2.0  # how often refused tokens are written down
USE_SECONDS = 60  # how exactly it is known when a token was last used
_PLACES = 1024
"""How many places with wrong tokens are remembered; the longest quiet is forgotten."""


@dataclass(frozen=True, slots=True)
class WrongTokenDelay:
    """The delay of the answer to a wrong token, which slows down who tries many."""

    free: int = 10  # how many wrong tokens of one place are answered at once
    first_seconds: float = 0.05
    """The delay of the next one; it doubles with each further one."""
    most_seconds: float = 2.0
    forget_seconds: float = 600.0
    """The time without a wrong token after which a place counts as new."""

    def delay(self, wrong: int) -> float:
        """The delay in seconds after `wrong` wrong tokens."""
        doublings = wrong - self.free - 1
        if doublings < 0:
            return 0.0
        # Of large exponents only the bound is left.
        return min(self.most_seconds, self.first_seconds * 2.0 ** min(doublings, 30))


class Household:
    """The `Authority` over the file of the people."""

    def __init__(
        self,
        people: People,
        patience: WrongTokenDelay | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the people; raises PeopleError."""
        self.people = people
        """The file, for what is written and for commands."""
        # What is read has a connection of its own: writing may wait for others.
        self._reader = People(people.folder, people.clock)
        self.patience = patience or WrongTokenDelay()
        self._clock = clock
        self._lock = threading.Lock()
        self._seen = -1
        self._devices: dict[bytes, Device] = {}
        self._past: dict[bytes, str] = {}
        """Digests of tokens that were good once, and the ids of their devices."""
        self._used: dict[str, int] = {}
        self._unwritten: dict[str, int] = {}
        self._refused: Counter[tuple[str, str]] = Counter()
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._refresh()
        self._may_connect = self._good()

    def close(self) -> None:
        """Write down what was counted, if that can be done, and close the file."""
        with suppress(PeopleError):
            self.note()
        self._reader.close()
        self.people.close()

    def caller(self, token: str) -> Caller | None:
        """The device whose token this is, if it is good."""
        digest = digest_of(token)
        device = self._devices.get(digest)
        if device is None:
            # It may have been made a moment ago, by a command or another server.
            with suppress(PeopleError):
                self._refresh()
            device = self._devices.get(digest)
        now = self.people.now
        if device is None or not device.may_connect(now):
            return None
        with self._lock:
            if now - self._used.get(device.id, 0) >= USE_SECONDS:
                self._used[device.id] = self._unwritten[device.id] = now
            # It may be new, and shut out again before the next look.
            self._may_connect[device.id] = digest
        return Caller(device.user, device.id, device.scopes)

    def refuse(self, token: str, place: str) -> float:
        """Count a wrong token from a place; the delay of its answer in seconds."""
        now = self._clock()
        with self._lock:
            self._refused[place, self._past.get(digest_of(token), "")] += 1
            if len(self._refused) > _PLACES:
                # Nothing could be written for long: only their number is kept.
                self._refused = Counter({("other places", ""): self._refused.total()})
        wrong, since = self._wrong.pop(place, (0, now))
        if now - since > self.patience.forget_seconds:
            wrong = 0
        self._wrong[place] = wrong + 1, now
        if len(self._wrong) > _PLACES:
            self._wrong.popitem(last=False)
        return self.patience.delay(wrong + 1)

    def look(self) -> set[str]:
        """Read what other processes have changed; the ids of the devices whose tokens
        have ended since the last look. Raises PeopleError."""
        self._refresh()
        may = self._good()
        with self._lock:
            before, self._may_connect = self._may_connect, may
        return {i for i in before if may.get(i) != before[i]}

    def note(self) -> None:
        """Write down what was counted; raises PeopleError, and then keeps it."""
        with self._lock:
            used, self._unwritten = self._unwritten, {}
            refused, self._refused = self._refused, Counter()
        if not used and not refused:
            return
        try:
            self.people.note(used, refused)
        except PeopleError:
            with self._lock:
                self._unwritten = used | self._unwritten
                self._refused.update(refused)
            raise

    async def watch(self, end_device: Callable[[str], None]) -> None:
        """While the server runs: `look`, end the devices whose tokens have ended, and
        now and then `note`. A file that cannot be read leaves all as it was; on a full
        disk devices are ended all the same."""
        next_note = 0.0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                for device in await asyncio.to_thread(self.look):
                    end_device(device)
                if self._clock() >= next_note:
                    next_note = self._clock() + NOTE_SECONDS
                    await asyncio.to_thread(self.note)
            except PeopleError:
                log_fault("looking at the people")

    def _good(self) -> dict[str, bytes]:
        """The digest of the token of each device that may connect, by the device's
        id."""
        now, devices = self.people.now, self._devices.values()
        return {one.id: one.digest for one in devices if one.may_connect(now)}

    def _refresh(self) -> None:
        """Read the people, if the file has changed; raises PeopleError."""
        replaced = self._reader.follow()
        with self._reader.reading() as connection:
            version = connection.execute("PRAGMA data_version").fetchone()[0]
            if version == self._seen and not replaced:
                return
            devices = select_devices(connection, "1")
            retired = connection.execute("SELECT token, device_id FROM retired_token")
            past = dict(retired.fetchall())
            past |= {one.digest: one.id for one in devices if one.revoked is not None}
            # Whole new dictionaries: another thread may be reading the old ones.
            self._devices = {one.digest: one for one in devices if one.revoked is None}
            self._past = past
            self._seen = version
