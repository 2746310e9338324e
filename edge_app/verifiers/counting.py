"""The verifier that tells an account what really left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from decoding_core.messages import DraftBlock, OpenSession, SessionOpened, Verdict
from decoding_core.protocols import Verifier
from edge_app.decoding.events import Event, Sent
from edge_app.privacy.budget import Account


class CountingVerifier:
    """Stands before the one at the socket; changes nothing.

    What is handed to the verifier inside has left, unless that fails. Then it has left
    if bytes of it did, of which `hear` is told.
    """

    local = False

    def __init__(self, inner: Verifier, account: Account) -> None:
        self._inner = inner
        self._account = account
        self._left = False

    def hear(self, event: Event) -> None:
        """A reader of the events of the socket."""
        if isinstance(event, Sent) and event.what in ("open", "block"):
            self._left = True

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises what the verifier inside raises."""
        self._account.open(request.prompt_ids)
        with self._counted(0, request.text_ids):
            return self._inner.open(request)

    def submit(self, block: DraftBlock) -> None:
        """Hand the block on; raises what the verifier inside raises."""
        with self._counted(block.position, (*block.settled, *block.drafted)):
            self._inner.submit(block)

    def collect(self) -> Verdict:
        """The verdict of the verifier inside; raises what that raises."""
        return self._inner.collect()

    def ready(self) -> bool:
        """Whether the verdict of the verifier inside is there."""
        return self._inner.ready()

    def close(self) -> None:
        """End the text."""
        self._inner.close()

    @contextmanager
    def _counted(self, position: int, token_ids: tuple[int, ...]) -> Iterator[None]:
        self._left = False
        self._account.before_leaving(position, token_ids)
        try:
            yield
            self._left = True
        finally:
            if self._left:
                self._account.leave(position, token_ids)
            else:
                self._account.stayed()
