"""A relay on loopback whose connections can be cut."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Relay:
    """Passes bytes on to a port, both ways, until it is cut; then takes new ones. Where
    nobody listens at the port, it goes on to the first of the others that answers."""

    def __init__(self, port, *others):
        self.port, self._others = port, others
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._open = []
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """Break every connection in mid-flight; how many there were."""
        with self._lock:
            broken, self._open = self._open, []
        for one in broken:
            _shut(one)
        self.cuts += len(broken)
        return len(broken)

    def close(self):
        _shut(self._listener)
        self.cut()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = self._connect()
            if far is None:
                _shut(near)
                continue
            with self._lock:
                self._open += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _connect(self):
        for port in (self.port, *self._others):
            with suppress(OSError):
                return socket.create_connection(("127.0.0.1", port))
        return None

    def _pass(self, source, target):
        with suppress(OSError):  # cut, or one side hung up
            while data := source.recv(65536):
                target.sendall(data)
        _shut(source)
        _shut(target)


def _shut(one):
    with suppress(OSError):  # not connected any more
        one.shutdown(socket.SHUT_RDWR)
    one.close()
