"""A connection to one scripted server, that tells what it sends."""

from edge_app.decoding.events import Received, Sent
from tests.edge_app.decoding.losing_server import LosingServer
from tests.fakes import HashEngine

URL, OPENING, HANGING_UP = "http://127.0.0.1:1", 900, 8
VOCABULARY = 8192  # Tokens of the embedded pair


class FakeConnection(LosingServer):
    """A connection to one scripted server, that tells what it sends."""

    def __init__(self, url, token, emit, stop, certificate):
        super().__init__({})
        self.models = [HashEngine(name, VOCABULARY) for name in ("large", "base")]
        self.url, self.asked = url, []
        self.tell = lambda event: self._emit(event)
        self.attach(emit, stop)

    def attach(self, emit, stop):
        self._emit = emit

    def request(self, what, method, path, body=None, **options):
        self.asked.append((what, method, path))
        answer = super().request(what, method, path, body, **options)
        self._emit(Sent(0.0, self.url, what, OPENING, (), b""))
        self._emit(Received(0.0, what, OPENING))
        return answer

    def disconnect(self):
        connected = self._connected
        if connected:
            self._emit(Sent(0.0, self.url, "end", HANGING_UP, (), b""))
        super().disconnect()
        return connected

    close = end = disconnect
