"""What a writing service works with, apart from the service, which takes long to
import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from edge_app.config.settings import GuardMode
from edge_app.privacy.budget import PrivacyLimits
from edge_app.retrieval import personalisation
from models.running.adapter import PersonalAdapter
from models.running.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """What a writing service works with."""

    specialist: Path
    generalist: Path
    store: Path
    ledger: Path
    server: str = ""
    """Address of a server; empty: one is started with the first online text."""
    token: str = field(default="", repr=False)
    engine: EngineSettings = field(default_factory=EngineSettings)
    sample_store: Path | None = None
    """Where sample letters are read from while the store holds none of one's own."""
    personalisation: str = personalisation.USUAL
    """What of the history is read where a request does not say."""
    reranker: Path | None = None
    """A GGUF reranker that chooses among the texts found."""
    adapter: PersonalAdapter | None = None
    """A LoRA that the specialist wears; no base and no server is given it."""
    token_in_clear: bool = False
    """Whether `token` may be sent to `server` without encryption."""
    certificate: str = field(default="", repr=False)
    """The only certificate, as PEM, that is taken at `server`; empty: any for which an
    authority vouches that this machine knows."""
    ledger_days: float = 0.0
    """How long the ledger keeps what was sent; 0: for ever."""
    cadence: float = 0.0
    """Milliseconds between two rounds; 0: each leaves when it is ready."""
    privacy: PrivacyLimits = field(default_factory=PrivacyLimits)
    """How much may be told of the history where a request does not say."""
    guard: GuardMode = "placeholder"
    """What becomes of what must not leave, where a request does not say."""
    guard_region: str = ""
    """Country of national telephone numbers; empty: it is taken from the texts."""
    allowed: tuple[str, ...] = ()
    """Phrases that the guard lets leave."""
    allow_always: Callable[[str], None] | None = None
    """Keeps a phrase that the person allows for good; None: it is allowed as long as
    the service lives."""
