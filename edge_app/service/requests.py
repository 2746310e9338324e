"""What a person asks for, and the interface of the service that writes it.

The command line and the terminal app know the service by this interface alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from decoding_core.settings import MethodSettings
from edge_app.config.settings import GuardMode
from edge_app.decoding.events import Emit, HeldBack, Source
from edge_app.privacy.budget import PrivacyLimits
from models.prompts import Request

if TYPE_CHECKING:
    from personal_store.ingest.unfinished import Unfinished

MayLeave = Literal["no", "once", "always"]
"""What a person says of what the guard found: it stays on the device, it leaves in this
text, or it is no secret in any text."""


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """One text to write."""

    brief: Request
    background: str = ""
    """Private notes that the specialist may read; they never leave the device."""
    settings: MethodSettings = field(default_factory=MethodSettings)
    max_tokens: int = 400
    reserved: int | None = None
    """How many tokens the prompt leaves for the text if it can; the text then ends
    where the room does. None: `max_tokens`, or the request is refused."""
    use_history: bool = True
    personalisation: str = ""
    """What of the history is read; empty: what the service was set up for."""
    offline: bool = False
    """Write on the device alone."""
    may_go_offline: bool = True
    """Write on alone when there is no server; else fail."""
    excluded: frozenset[int] = frozenset()
    """Records of the store not to be used."""
    privacy: PrivacyLimits | None = None
    """How much may be told of the history; None: what the service was set up for."""
    guard: GuardMode | None = None
    """What becomes of what must not leave; None: what the service was set up for."""
    ask: Callable[[HeldBack], MayLeave] | None = field(default=None, compare=False)
    """Says for `guard` "ask" whether something that was held back may leave; None:
    nothing may, and a notice says so."""
    weighs: bool = False
    """Whether `Weighed` events shall tell what the models thought of each token."""
    before: str = ""
    """The text so far: what is written goes on from its end."""
    instead_of: str = ""
    """What stood where it is written: it ends where as much is said; empty: with the
    text."""
    behind: str = ""
    """How the text goes on behind that; no model reads it."""
    reply_to: int | None = None
    """The record of a received text that is answered, which this device alone reads."""


@dataclass(frozen=True, slots=True)
class Letter(Source):
    """A text of a thread, the writer's own or a received one."""

    sender: str = ""
    """Who wrote a received one, as `Name <address>`; empty for one's own."""
    subject: str = ""


class Service(Protocol):
    """Everything the app needs; all calls may block and may run in any thread."""

    def prepare(self) -> str:
        """Load the models and reach or start the server; a short description such as
        `own server`. Called once, before the first `write`; raises DecodingError."""

    def write(self, request: WriteRequest, emit: Emit, stop: threading.Event) -> None:
        """Write a text; `emit` is called with all that happens, `Finished` last, from
        this thread. Raises DecodingError."""

    def read_ahead(self, request: WriteRequest, stop: threading.Event) -> None:
        """Have the specialist read what it would for `request`, before it is asked for;
        nothing is sent, told or kept, and the next `write` begins sooner. Raises
        DecodingError, also once `stop` is set."""

    def server_ended(self) -> bool:
        """Whether the server that was started here has ended; sends nothing."""

    def counts(self) -> dict[str, int]:
        """How many own texts of each kind the store holds."""

    def correspondents(self) -> list[str]:
        """Everybody who can be written to, as `Name <address>`, the latest first."""

    def identities(self) -> list[str]:
        """The addresses and names that are known to be the owner's."""

    def own_address(self, answered: int | None = None) -> str:
        """The owner's address to write a mail from, or to answer a received one; empty
        if it is unknown."""

    def search(self, query: str, limit: int = 20) -> list[Source]:
        """Own texts that match, best first; their whole text is the excerpt."""

    def texts(self, record_ids: Sequence[int]) -> list[Source]:
        """The own texts of these records that the store still has."""

    def search_received(self, query: str, limit: int = 20) -> list[Letter]:
        """The same of what others wrote to the person."""

    def thread(self, record_id: int) -> list[Letter]:
        """A received text with all that stands in its thread, the oldest first."""

    def references(self, record_id: int) -> list[str]:
        """Identifiers of a received mail and of those that it answers, the oldest
        first, as they came."""

    def import_letters(
        self,
        kind: str,
        path: Path,
        me: Sequence[str],
        progress: Callable[[int, int], None],
    ) -> str:
        """Read a mailbox or other export into the store; the closing sentence.
        Raises StoreError."""

    def unfinished_import(self) -> Unfinished | None:
        """The last import that was begun and is not finished, nor running; the same
        `import_letters` goes on with it."""

    def leave_import(self, asked: Unfinished) -> None:
        """Offer this import no more; what was read of it stays."""

    def close(self) -> None:
        """End the server that was started, and free the models; never waits for one
        that is loading."""
