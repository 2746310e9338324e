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


def test_bytes_take_half_of_the_trip_and_keep_their_order():
    """Whatever is sent while others are on their way arrives as much later."""
    hands = Hands()
    way = Delayed(0.5, 0.0, hands.clock, hands.sleep)
    way.put(b"one")
    hands.now = 0.125
    way.put(b"two")
    way.put(b"three")
    hands.now = 3.0
    way.put(b"four")
    way.put(b"")
    hands.now = 0.25
    arrived = [(data, hands.now) for data in way.arriving()]
    assert arrived == [
        (b"one", 0.5),
        (b"two", 0.625),
        (b"three", 0.625),
        (b"four", 3.5),
    ]
    assert hands.now == 3.5  # the end takes as long


def test_nothing_is_sent_before_the_handshake_is_over():
    """The first bytes count as sent a whole trip after the connect."""
    hands = Hands()
    way = Delayed(0.5, 1.0, hands.clock, hands.sleep)
    way.put(b"one")
    hands.now = 2.0
    way.put(b"two")
    way.put(b"")
    hands.now = 0.0
    arrived = [(data, hands.now) for data in way.arriving()]
    assert arrived == [(b"one", 1.5), (b"two", 2.5)]


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
