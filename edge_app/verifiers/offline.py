"""The verifier of a device that is alone: it keeps everything, and says so."""

from __future__ import annotations

from decoding_core.messages import DraftBlock, OpenSession, SessionOpened, Verdict


class OfflineVerifier:
    """No generalist takes part; every token counts as local."""

    local = True

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text."""
        del request
        return SessionOpened("offline", "", "")

    def verify(self, block: DraftBlock) -> Verdict:
        """Keep the whole block."""
        return Verdict(block.epoch, block.round, len(block.drafted), ())

    def close(self) -> None:
        """There is nothing to forget."""
