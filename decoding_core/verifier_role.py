"""What a server does in a session, as both sides derive it from the terms."""

from __future__ import annotations

from dataclasses import dataclass

from decoding_core.messages import Terms
from decoding_core.methods import build_for_server
from decoding_core.protocols import Method
from decoding_core.wire import FrameFormat


@dataclass(frozen=True, slots=True)
class VerifierRole:
    """The server's part in a method."""

    terms: Terms
    method: Method
    uses_base: bool
    """Whether the server runs the base."""
    judges: bool
    """Whether it counts what stays; else it gives a row at every position."""

    @property
    def draft_limit(self) -> int:
        """The longest draft that the method and the terms allow."""
        return self.terms.draft_limit if self.method.drafts else 0

    @property
    def adds_draft(self) -> bool:
        """Whether the drafted token is among the candidates. It is not where the device
        decides: the cut would depend on the draft, and the text with it."""
        return self.method.drafts and self.method.decided_by == "server"

    @property
    def frames(self) -> FrameFormat:
        """The frames of the session."""
        return FrameFormat(
            draft_limit=self.terms.draft_limit,
            rows=len(self.positions(0, self.draft_limit)),
            row_limit=self.terms.candidates + self.adds_draft,
            with_base=self.uses_base,
        )

    def positions(self, kept: int, drafted: int) -> range:
        """Of which positions of a block the verdict holds rows."""
        if not self.judges:
            return range(drafted + 1)
        if self.method.drafts_again:
            return range(0)
        return range(kept, kept + 1)


def role_of(terms: Terms) -> VerifierRole:
    """The server's part; raises what `methods.build` does."""
    method = build_for_server(terms)
    elsewhere = method.uses_base and terms.base == "edge"
    return VerifierRole(
        terms,
        method,
        uses_base=method.uses_base and not elsewhere,
        judges=method.decided_by == "server" and not elsewhere,
    )
