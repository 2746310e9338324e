"""A relay on loopback that puts a round trip between a device and a server.

It delays every byte by half of the round trip in each direction, keeps their order, and
lets any number of them through at once: latency without a limit of bandwidth. Sockets
are TCP_NODELAY. It runs in a process of its own, two threads for each direction of a
connection: asyncio's timers count whole milliseconds.

**The handshake.** Linux completes a connection before a program can hold it up, so the
device's `connect` returns at once. What a real one would have cost is put where it is
felt: the server is connected half a round trip later, and the first bytes of the device
count as sent no sooner than a whole round trip after its connect.
"""

from __future__ import annotations

import json
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from statistics import median

from benchmarks.speed.rig.serving import Address, child_process

_SIZE = 1 << 16


class Delayed:
    """Bytes on their way in one direction; b"" is the end of them."""

    def __init__(
        self,
        delay: float,
        not_sent_before: float,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Each takes `delay` seconds from when it was put in, or from
        `not_sent_before` where that is later."""
        self._delay = delay
        self._not_sent_before = not_sent_before
        self._clock = clock
        self._sleep = sleep
        self._on_the_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def put(self, data: bytes) -> None:
        """Send bytes, or b"" as the last."""
        sent = max(self._clock(), self._not_sent_before)
        self._on_the_way.put((sent + self._delay, data))

    def arriving(self) -> Iterator[bytes]:
        """Each when its time has come, until the end."""
        while True:
            due, data = self._on_the_way.get()
            left = due - self._clock()
            if left > 0.0:
                self._sleep(left)
            if not data:
                return
            yield data


class Relay:
    """Listens on a free port and passes on to another, with a round trip between."""

    def __init__(self, port: int, round_trip: float) -> None:
        """`round_trip` in seconds."""
        self._target = port
        self._trip = round_trip
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections; those that are there go on."""
        _shut(self._listener, socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                arguments = near, time.perf_counter()
                threading.Thread(
                    target=self._connect, args=arguments, daemon=True
                ).start()

    def _connect(self, near: socket.socket, accepted: float) -> None:
        half = self._trip / 2.0
        up = Delayed(half, accepted + self._trip)
        down = Delayed(half, 0.0)
        self._thread(_read, near, up)
        time.sleep(max(0.0, accepted + half - time.perf_counter()))
        try:
            far = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            _shut(near, socket.SHUT_RDWR)  # a thread reads it: closing would wait
            near.close()
            return
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        passing = [
            self._thread(_read, far, down),
            self._thread(_write, up, far),
            self._thread(_write, down, near),
        ]
        for thread in passing:
            thread.join()
        near.close()
        far.close()

    def _thread(self, target: Callable[..., None], *args: object) -> threading.Thread:
        thread = threading.Thread(target=target, args=args, daemon=True)
        thread.start()
        return thread


def _read(source: socket.socket, way: Delayed) -> None:
    data = b"more"
    while data:
        try:
            data = source.recv(_SIZE)
        except OSError:  # reset: the other side hears that it ended
            data = b""
        way.put(data)


def _write(way: Delayed, target: socket.socket) -> None:
    with suppress(OSError):  # it hung up: what is still on its way is lost, as it is
        for data in way.arriving():
            target.sendall(data)
    _shut(target, socket.SHUT_WR)


def _shut(one: socket.socket, how: int) -> None:
    with suppress(OSError):  # not connected any more
        one.shutdown(how)


def main() -> None:
    """Relay to the port, with the round trip in seconds, that the first line of
    standard input names, until that ends. Says its own port in one line."""
    port, trip = json.loads(sys.stdin.readline())
    print(Relay(port, trip).port, flush=True)
    sys.stdin.read()


@contextmanager
def relayed(address: Address, round_trip: float) -> Iterator[Address]:
    """A server as it is found a round trip away; without one, as it is."""
    if not round_trip:
        yield address
        return
    order = json.dumps([address.port, round_trip])
    with child_process(f"{__name__}:main", order) as (_, line):
        yield address.through(int(line))


def measured_trip(round_trip: float, times: int = 20) -> tuple[float, float, float]:
    """The least, the median and the largest of some trips of a byte there and back, in
    seconds; the machine's share is what is above `round_trip`."""
    echo = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        one, _ = echo.accept()
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := one.recv(_SIZE):
            one.sendall(data)
        one.close()

    threading.Thread(target=answer, daemon=True).start()
    port = echo.getsockname()[1]
    trips = []
    with relayed(Address(f"http://127.0.0.1:{port}", ""), round_trip) as far:
        device = socket.create_connection(("127.0.0.1", far.port))
        device.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(times + 1):
            began = time.perf_counter()
            device.sendall(b"x")
            device.recv(1)
            trips.append(time.perf_counter() - began)
        device.close()
    echo.close()
    del trips[0]  # it has the handshake in it
    return min(trips), median(trips), max(trips)
