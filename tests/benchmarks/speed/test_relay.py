"""The relay between a device and a server: late, in order, whole."""

import socket
import threading

import pytest

from benchmarks.speed.serving import Delayed, Relay
from tests.waiting import Elapsed

TRIP = 0.06
LONG = bytes(range(256)) * 4000
"""More than one read takes, and more than sockets hold."""


class Hands:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now = 0.0

    def clock(self):
        return self.now

    def sleep(self, seconds):
        assert seconds > 0.0
        self.now += seconds


@pytest.mark.parametrize(
    ("handshake", "due"), [(0.0, (0.5, 0.625, 0.625, 3.5)), (1.0, (1.5, 1.5, 1.5, 3.5))]
)
def test_bytes_take_half_of_the_trip_and_keep_their_order(handshake, due):
    """Whatever is sent while others are on their way arrives as much later; nothing
    counts as sent before the handshake is over."""
    hands = Hands()
    way = Delayed(0.5, handshake, hands.clock, hands.sleep)
    sent = (0.0, b"one"), (0.125, b"two"), (0.125, b"three"), (3.0, b"four"), (3.0, b"")
    for hands.now, data in sent:
        way.put(data)
    hands.now = 0.25
    arrived = [(data, hands.now) for data in way.arriving()]
    assert arrived == list(zip((b"one", b"two", b"three", b"four"), due, strict=True))
    assert hands.now == 3.5  # the end takes as long


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as one:
        yield one


@pytest.fixture
def relay(listener):
    relay = Relay(listener.getsockname()[1], TRIP)
    yield relay
    relay.close()


def whole(one):
    data = b""
    while part := one.recv(1 << 16):
        data += part
    return data


def test_all_bytes_pass_both_ways_and_so_does_the_end(listener, relay):
    """Each side may end its own direction and still hear the other."""
    with socket.create_connection(("127.0.0.1", relay.port)) as near:
        far, _ = listener.accept()
        heard = []
        threads = [
            threading.Thread(target=near.sendall, args=(LONG,)),
            threading.Thread(target=lambda: heard.append(far.recv(1))),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        near.shutdown(socket.SHUT_WR)
        assert heard[0] + whole(far) == LONG
        far.sendall(LONG[::-1])
        far.close()
        assert whole(near) == LONG[::-1]


def test_nothing_arrives_before_its_time(listener, relay):
    """The handshake costs a trip, the first bytes half of one more, an answer the
    other half."""
    elapsed = Elapsed()
    with socket.create_connection(("127.0.0.1", relay.port)) as near:
        near.sendall(b"asked")
        far, _ = listener.accept()
        assert elapsed.at_least(0.5 * TRIP)
        assert far.recv(16) == b"asked"
        assert elapsed.at_least(1.5 * TRIP)
        far.sendall(b"answer")
        assert near.recv(16) == b"answer"
        assert elapsed.at_least(2.0 * TRIP)
        far.close()


def test_a_server_that_is_gone_hangs_up(relay, listener):
    """The device hears the end, and the relay goes on."""
    listener.close()
    with socket.create_connection(("127.0.0.1", relay.port)) as near:
        assert near.recv(1) == b""
