"""Which connections may stay, as arithmetic and with real sockets; TLS and HTTP in the
clear on one port."""

import asyncio
import logging
import resource
import socket
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest

from cloud_api import connections, run
from cloud_api.admission import (
    context_of_files,
    fingerprint_of,
    given_certificate,
    make_certificate,
)
from cloud_api.connections import (
    REST_SECONDS,
    ConnectionTable,
    Peer,
    StreamConnection,
    network_of,
)
from cloud_api.engine.scheduler import AHEAD
from cloud_api.errors import LINES, PERIOD_SECONDS, QuotaError, ServerError
from cloud_api.run import room_for_connections
from cloud_api.settings import ConnectionLimits, ServerSettings, UserLimits
from tests.cloud_api.cloud_fakes import (
    HEADERS,
    PLAIN,
    TOKEN,
    client_of,
    open_session,
    running,
    stream,
)
from tests.cloud_api.people.people_fakes import certificates, secure, tls_in, trusting
from tests.waiting import PATIENCE, wait_until

LIMITS = ConnectionLimits(8, header_seconds=10, body_seconds=60, unread_seconds=30)
# So 4 strangers in all, and 1 of each network.


class Guest:
    """A connection that notes how it was told to leave."""

    def __init__(self, table, address, now=0.0, user=""):
        self.left = []
        self.peer = Peer(address, self.left.append)
        table.enter(self.peer, now)
        if user:
            table.recognise(self.peer, user, now)


def test_a_stranger_too_many_leaves_of_its_own_network_or_of_the_fullest():
    """The oldest of them."""
    table = ConnectionTable(ConnectionLimits(16))  # 8 strangers, 2 of each network
    crowd = [Guest(table, "10.0.0.1") for _ in range(3)]
    assert [one.left for one in crowd] == [[None], [], []]
    others = [Guest(table, f"10.0.1.{n}") for n in range(7)]

    assert [one.left for one in crowd] == [[None], [None], []]
    assert all(one.left == [] for one in others)
    assert len(table) == 8


def test_the_household_stays_however_many_strangers_come():
    table = ConnectionTable(LIMITS)
    own = [Guest(table, "10.0.0.1", user=f"u{n}") for n in range(6)]
    strangers = [Guest(table, f"10.0.1.{n}") for n in range(50)]

    assert all(one.left == [] for one in own)
    assert [one.left for one in strangers] == [[None]] * 48 + [[]] * 2


def test_the_last_places_are_left_to_strangers_such_as_health_checks():
    """The household is told to come back, or one that rests between two requests makes
    room, of whoever has the most."""
    table = ConnectionTable(LIMITS)
    own = [Guest(table, "10.0.0.1", user=f"u{n % 3}") for n in range(6)]
    with pytest.raises(QuotaError) as caught:
        Guest(table, "10.0.0.2", user="u9")

    assert caught.value.retry_after == 5
    assert Guest(table, "10.0.0.3").left == []
    table.rest(own[0].peer, 3.0)
    assert Guest(table, "10.0.0.2", user="u9").left == []
    assert [one.left for one in own] == [[None]] + [[]] * 5
    # Who comes back when told so is let in, though nobody rests.
    assert Guest(table, "10.0.0.2", now=5.0, user="u9").left == []
    assert own[1].left == [None]


def test_one_user_cannot_take_all_places():
    table = ConnectionTable(LIMITS)
    greedy = [Guest(table, "10.0.0.1", user="a") for _ in range(3)]
    with pytest.raises(QuotaError):
        Guest(table, "10.0.0.1", user="a")
    table.rest(greedy[2].peer, 1.0)
    Guest(table, "10.0.0.1", user="a")

    assert [one.left for one in greedy] == [[], [], [None]]
    assert all(Guest(table, "10.0.0.2", user="b").left == [] for _ in range(3))


def test_each_part_of_a_request_has_its_own_time():
    """However many bytes of it drip in; an answer has none, but must be read."""
    table = ConnectionTable(LIMITS)
    slow, fast, deaf, reader = (Guest(table, f"10.0.0.{n}") for n in range(4))

    def left_at(now):
        table.expire(now)
        return [reason for one in (slow, fast, deaf, reader) for reason in one.left]

    for one in (fast, deaf, reader):
        table.expect(one.peer, None, 0.0)
        table.unread(one.peer, 1, 5.0)
    for one in (fast, reader):
        table.unread(one.peer, 0, 6.0)
    for now in (3.0, 6.0, 9.0):
        table.expect(slow.peer, "header", now)
        assert left_at(now) == []
    assert left_at(9.9) == []
    table.expect(slow.peer, "body", 9.9)
    assert left_at(34.9) == []
    assert left_at(35.0) == [None]
    assert left_at(69.8) == [None]
    assert left_at(69.9) == ["body", None]
    table.rest(fast.peer, 70.0)
    assert left_at(1000.0) == ["body", None]
    table.expect(fast.peer, "header", 1000.0)
    assert left_at(1009.9) == ["body", None]
    assert left_at(1010.0) == ["body", "header", None]
    table.leave(fast.peer)  # its end is noted later
    assert left_at(9999.0) == ["body", "header", None]
    assert len(table) == 1


def test_an_ipv6_network_is_one_place():
    same = ("::ffff:10.0.0.1", "10.0.0.1"), ("fe80::1%eth0", "fe80::2"), ("", "")
    other = ("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00:0:0:1::1")
    assert all(network_of(one) == network_of(two) for one, two in same)
    assert not any(network_of(one) == network_of(two) for one, two in other)


@contextmanager
def saying(server, start):
    """A socket that sends nothing but `start`."""
    port = server.socket.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as one:
        one.sendall(start)
        yield one


def all_of(sock):
    """What the server says until it hangs up."""
    said = b""
    with suppress(ConnectionResetError):
        while part := sock.recv(4096):
            said += part
    return said


def expire_once(server, fact):
    """Let all time be over as soon as `fact` is true of a connection."""

    def expired():
        found = any(map(fact, connections_of(server)))
        if found:
            server.app.state.connections.expire(float("inf"))
        return found

    wait_until(lambda: server.on_loop(expired), "the request does not begin")


def has_begun(connection):
    """Whether the start of a request was read."""
    return bool(connection.cycle or connection.conn.trailing_data[0])


def waits_for_a_second(connection):
    """Whether one was answered, and the next has begun."""
    return connection.cycle and connection._peer.stage == "header"


UPGRADE = (
    b" /v1/sessions/x/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
POST = (
    b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\n"
    b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
)
TOO_SLOW = b"408 Request Timeout", b'"code":"too-slow"'
BAD = b"400 Bad Request", b'"code":"bad-request"'
ALIVE = b"200 OK", b'"alive"'


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n", TOO_SLOW),
        (b"G", TOO_SLOW),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /heal", ALIVE),
        (POST + b"Content-Length: 9\r\n\r\n{", TOO_SLOW),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", TOO_SLOW),
        (b"POST" + UPGRADE + b"Content-Length: 1\r\n\r\nx", BAD),
        (b"GET" + UPGRADE + b"X: " + b"y" * 9000 + b"\r\n\r\n", BAD),
        (b"GET" + UPGRADE + b"X: y\r\n" * 300 + b"\r\n", BAD),
    ],
)
def test_a_request_that_never_ends_or_cannot_be_is_told_so_and_closed(
    caplog, start, said
):
    caplog.set_level(logging.WARNING)
    with running(wait=False) as server, saying(server, start) as one:
        if said is not BAD:
            expire_once(server, has_begun if said is TOO_SLOW else waits_for_a_second)
        answer = all_of(one)
    status, code = said
    assert answer.startswith(b"HTTP/1.1 " + status + b"\r\n")
    assert code in answer
    assert answer.count(b"HTTP/1.1 ") == 1
    assert caplog.records == []


def test_an_upgrade_that_is_never_accepted_has_the_time_of_a_header():
    with running(wait=False) as server:
        go_on = asyncio.Event()

        async def hang(*_):
            await go_on.wait()

        server._server.config.loaded_app = hang
        with saying(server, b"GET" + UPGRADE + b"\r\n") as one:
            wait_until(lambda: any(map(is_stream, connections_of(server))))
            server.on_loop(lambda: server.app.state.connections.expire(float("inf")))
            assert all_of(one) == b""
        server.on_loop(go_on.set)


def is_stream(connection):
    return isinstance(connection, StreamConnection)


def test_who_does_not_read_the_answers_is_closed():
    """As asyncio tells when its buffer is full; between two requests and on a
    stream."""
    with (
        running(connections=ConnectionLimits(unread_seconds=0.0)) as server,
        client_of(server) as client,
        stream(server, open_session(client)),
    ):
        wait_until(lambda: len(connections_of(server)) == 2)

        def pause_and_read_on(connection):
            connection.pause_writing()
            connection.resume_writing()

        for one in connections_of(server):
            server.on_loop(partial(pause_and_read_on, one))
            server.on_loop(lambda: server.app.state.connections.expire(float("inf")))
            assert server.on_loop(one.transport.is_closing) is False
            server.on_loop(one.pause_writing)
        wait_until(lambda: not connections_of(server))


def test_what_one_user_leaves_unread_is_bounded():
    """The connection that holds the most is closed; another user's stays."""
    table = ConnectionTable(replace(LIMITS, unread_bytes=100))
    users = "ana", "ana", "ben"
    ana, more, ben = (Guest(table, "10.0.0.1", user=user) for user in users)
    table.unread(ana.peer, 40, 0.0)
    table.unread(ben.peer, 90, 0.0)
    table.unread(more.peer, 60, 0.0)
    assert ana.left == more.left == ben.left == []
    table.unread(ana.peer, 41, 0.0)
    assert (ana.left, more.left, ben.left) == ([], [None], [])
    table.unread(ana.peer, 0, 0.0)
    assert ana.peer.unread_deadline is None


def connections_of(server):
    return list(server._server.server_state.connections)


def test_what_waits_for_nobody_is_never_too_slow():
    """Neither an open stream nor a connection between two requests: a device asks
    something small when it starts, and opens its session over the same connection up to
    75 seconds later."""
    with running() as server, client_of(server) as client:
        table = server.app.state.connections
        with stream(server, open_session(client)):
            peers = table._peers
            for one in connections_of(server):
                # Else small answers wait 40 ms for an acknowledgement.
                accepted = one.transport.get_extra_info("socket")
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1

            def nobody_is_waited_for():
                known = [one for one in list(peers) if one.user]
                resting = [one for one in known if one.resting_since is not None]
                waited = [one for one in known if one.deadline is not None]
                return (len(known), len(resting), len(waited)) == (2, 1, 0)

            # The answer is on its way before the table is told.
            wait_until(nobody_is_waited_for)
            kept = {one for one in connections_of(server) if not is_stream(one)}
            server.on_loop(lambda: table.expire(now_of(server) + REST_SECONDS - 1))
            open_session(client)
            assert {one for one in connections_of(server) if not is_stream(one)} == kept
    assert REST_SECONDS >= 75


def now_of(server):
    return server._server.servers[0].get_loop().time()


ENDLESS = resource.RLIM_INFINITY


def test_connections_stay_below_what_the_process_may_open(monkeypatch):
    given = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: given.append(new))
    for soft, hard, room, raised in (
        (1024, 4096, 512, []),
        (256, 4096, 512, [(512 + 64, 4096)]),
        (256, ENDLESS, 512, [(512 + 64, ENDLESS)]),
        (ENDLESS, ENDLESS, 512, []),
        (32, 32, 1, [(32, 32)]),
    ):
        monkeypatch.setattr(resource, "getrlimit", Mock(return_value=(soft, hard)))
        assert room_for_connections(512) == room, soft
        assert given == raised, soft
        given.clear()


def test_the_limits_are_those_of_the_page():
    page = Path(__file__).parents[2].joinpath("docs", "household-server.md").read_text()
    limits, user, words = ConnectionLimits(), UserLimits(), " ".join(page.split())
    openings = f"{user.openings} at once, {user.openings_per_second:.0f} a second"
    for said in (
        f"| connections | {limits.connections} | below |",
        f"| the header of a request | {limits.header_seconds:.0f} seconds",
        f"| the rest of a request | {limits.body_seconds:.0f} seconds",
        f"| an answer that the client does not read | {limits.unread_seconds:.0f} sec",
        f"| a connection without a further request | {REST_SECONDS} seconds",
        f"| the same line in the log | {LINES} a minute |",
        f"| texts remembered | {user.sessions} |",
        f"| texts begun | {openings} |",
        f"block was verified yet | {user.prompt_tokens:,} tokens |",
        f"| open streams | {user.streams} |",
        f"| answers on streams that are not read | {user.unread_bytes >> 20} MiB |",
        f"| connections | {limits.known_per_user} |",
        f"take {ServerSettings().kept_answer_bytes >> 20} MiB in all",
        "half of the 2048 in all, and an eighth from one",
        f"{AHEAD} tokens at a time",
        f"every {connections.PING_SECONDS:.0f} seconds",
    ):
        assert said in words
    assert PERIOD_SECONDS == 60
    assert (limits.strangers, limits.strangers_per_network) == (1024, 256)


GREETING = bytes.fromhex("1603010100010000fc0303")
"""The beginning of a greeting of TLS whose end never comes."""


def test_http_in_the_clear_and_over_tls_are_answered_on_one_port(tmp_path):
    """And a stop ends those who are still shaking hands."""
    with ExitStack() as still, running(tls=tls_in(tmp_path)) as server:
        for url, verify in ((server.url, PLAIN), (secure(server.url), trusting())):
            with httpx.Client(
                base_url=url, verify=verify, headers=HEADERS, timeout=PATIENCE
            ) as client:
                assert open_session(client)
                long = client.post("/v1/sessions", content=b"x" * 300_000)
                assert long.status_code == 422
        wait_until(lambda: len(server.app.state.connections) == 0, "one stayed")
        silent = still.enter_context(saying(server, GREETING))
        wait_until(lambda: len(server.app.state.connections) == 1)
        server.stop()
        with suppress(ConnectionResetError):
            assert silent.recv(1) == b""


def test_who_never_shakes_hands_is_hung_up_on(tmp_path):
    """asyncio by itself would wait for a minute, and count nobody."""
    hurry = ConnectionLimits(header_seconds=0.0)
    with running(tls=tls_in(tmp_path), connections=hurry, wait=False) as server:
        for first in (b"", GREETING, GREETING[:1], b"\x16nonsense" * 10):
            with saying(server, first) as one, suppress(ConnectionError):
                assert one.recv(100)[:1] in (b"", b"\x15")  # an alert
            wait_until(lambda: len(server.app.state.connections) == 0, f"{first}")


def test_where_only_tls_is_spoken_plain_requests_are_told_so(tmp_path):
    with (
        running(tls=tls_in(tmp_path), plain=False) as server,
        httpx.Client(verify=PLAIN, headers=HEADERS, timeout=PATIENCE) as plain,
    ):
        answer = plain.get(server.url + "/v1/models")
        assert (answer.status_code, answer.json()["code"]) == (400, "tls-required")
        url = secure(server.url) + "/healthz"
        answer = httpx.get(url, verify=trusting(), timeout=PATIENCE)
        assert answer.status_code == 200


def test_given_files_are_taken_or_refused_with_a_sentence(tmp_path):
    pem, fingerprint = certificates()
    at = pem.index("-----BEGIN CERTIFICATE")
    both, key, chain = (tmp_path / n for n in ("both.pem", "key.pem", "chain.pem"))
    both.write_text(pem)
    key.write_text(pem[:at])
    chain.write_text(pem[at:])
    assert context_of_files(both, None)
    assert context_of_files(chain, key)
    assert fingerprint_of(pem[at:]) == fingerprint != make_certificate()[1]
    for certificate, given in ((chain, None), (key, chain), (chain, chain)):
        with pytest.raises(ServerError, match="no certificate and its key"):
            context_of_files(certificate, given)
    with pytest.raises(ServerError, match="cannot be read"):
        context_of_files(tmp_path / "none.pem", None)
    with pytest.raises(ServerError, match="there is no certificate"):
        fingerprint_of("nothing")


def test_a_renewed_file_is_read_again_and_nobody_is_hung_up_on(
    tmp_path, monkeypatch, capsys
):
    """Whoever connects from then on is shown it; what is none is told and left."""
    path = tmp_path / "both.pem"
    path.write_text(certificates()[0])
    tls, told = given_certificate(path, None), []
    monkeypatch.setattr(run, "_LOOK_SECONDS", 0.01)
    with (
        running(tls=tls) as server,
        httpx.Client(verify=trusting(), timeout=PATIENCE) as old,
        httpx.Client(verify=trusting(1), timeout=PATIENCE) as new,
    ):
        url = secure(server.url) + "/healthz"
        assert old.get(url).status_code == 200
        renewing = run._renew(tls, told.append)
        watching = server.on_loop(lambda: asyncio.ensure_future(renewing))
        path.write_text("half of one")
        wait_until(lambda: "certificate of before is" in capsys.readouterr().err)
        pem, fingerprint = certificates(1)
        path.write_text(pem)
        wait_until(lambda: told, "it was not read again")
        assert told[0].fingerprint == fingerprint
        assert new.get(url).status_code == 200
        assert old.get(url).status_code == 200
        server.on_loop(watching.cancel)
