"""What a person asks for, and what the writing service works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from decoding_core.settings import MethodSettings
from edge_app.config.settings import GuardMode, PrivacyLimits, Settings
from edge_app.decoding.events import HeldBack, Source
from models.files import locate
from models.prompts import Request
from models.running.settings import EngineSettings, PersonalAdapter

MOST_TRIES = 8
AGAIN_TEMPERATURE = 0.7
"""Used for another version when the settings leave nothing to chance."""
_BEHIND = 80  # letters behind a stretch by which the model sees where it ends
_LEAST_TOKENS = 32  # for a stretch; and one more for each letter that stood there
LengthWanted = Literal["short", "usual", "long"]
MayLeave = Literal["no", "once", "always"]
"""What a person says of what the guard found: it stays on the device, it leaves in this
text, or it is no secret in any text."""


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """One text to write."""

    brief: Request
    background: str = ""  # private notes, which never leave the device
    settings: MethodSettings = field(default_factory=MethodSettings)
    names_base: bool = False  # whether the person said now where the base runs
    max_tokens: int = 400
    reserved: int | None = None
    """How many tokens the prompt leaves for the text if it can; the text then ends
    where the room does. None: `max_tokens`, or the request is refused."""
    use_history: bool = True
    personalisation: str = ""  # what of the history is read; empty: as configured
    offline: bool = False  # write on the device alone
    may_go_offline: bool = True  # write on alone when there is no server; else fail
    excluded: frozenset[int] = frozenset()  # records of the store not to be used
    privacy: PrivacyLimits | None = None  # limits on nats; None: as configured
    guard: GuardMode | None = None  # what becomes of private words; None: as configured
    ask: Callable[[HeldBack], MayLeave] | None = field(default=None, compare=False)
    """Answers for the guard "ask"; None: nothing may leave, and a notice says so."""
    weighs: bool = False  # whether `Alternatives` events list other likely tokens
    before: str = ""  # the text so far: what is written goes on from its end
    instead_of: str = ""  # the text that it replaces, of about that length; empty: none
    behind: str = ""  # how the text goes on behind that; no model reads it
    reply_to: int | None = None  # record of the answered text, which stays here
    length: LengthWanted = "usual"  # by the writer's own texts
    moves: bool = True
    """Whether finished drafts may move threshold and strength."""

    def tries(self, count: int) -> list[WriteRequest]:
        """This request and others, with the next seeds, at a temperature above 0."""
        seed, heat = self.settings.seed, self.settings.temperature or AGAIN_TEMPERATURE
        return [self] + [
            replace(self, settings=replace(self.settings, seed=at, temperature=heat))
            for at in range(seed + 1, seed + count)
        ]

    def of_stretch(self, before: str, stood: str, behind: str) -> WriteRequest:
        """The request for other words in the place of `stood`, between two texts."""
        return replace(
            self,
            before=before.rstrip(" "),
            instead_of=stood,
            behind=behind[:_BEHIND],
            max_tokens=min(self.max_tokens, _LEAST_TOKENS + len(stood)),
        )


@dataclass(frozen=True, slots=True)
class Letter(Source):
    """A text of a thread, the writer's own or a received one."""

    sender: str = ""  # as `Name <address>`; empty for one's own
    answer_to: str = ""  # its Reply-To, as `Name <address>`; empty: its sender
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """A text as the person took it away, and how it had been drafted."""

    name: str  # the same for the same draft and version
    brief: Request
    drafted: str
    text: str
    own_share: float  # of its words, those that the person typed
    reply_to: int | None = None


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """What a writing service works with."""

    specialist: Path
    generalist: Path
    store: Path
    ledger: Path
    settings: Settings = field(default_factory=Settings)
    """Its server, token and certificate are those of this service; `specialist`,
    `generalist`, `engine` and the other fields here stand before the settings' own."""
    engine: EngineSettings = field(default_factory=EngineSettings)
    sample_store: Path | None = None  # sample letters, if the store has no own texts
    reranker: Path | None = None  # a GGUF reranker that chooses among the texts found
    adapter: PersonalAdapter | None = None  # a LoRA of the specialist alone
    privacy: PrivacyLimits = field(default_factory=PrivacyLimits)
    """Limits on nats of the history unless a request says otherwise."""
    allowed: tuple[str, ...] = ()  # phrases that the guard lets leave
    allow_always: Callable[[str], None] | None = None
    """Keeps a phrase that may always leave; None: only while the service lives."""

    @property
    def tiny(self) -> bool:
        """Whether the specialist is the embedded one: what it adds to a request is
        invented, and a letter that it answers confuses it."""
        return self.specialist == locate("specialist")
