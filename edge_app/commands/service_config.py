"""Which models, server and store a command works with."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decoding_core.errors import DecodingError, EngineError, InvalidSettingsError
from edge_app.adapters.kept import worn
from edge_app.commands.terminal import note
from edge_app.config.settings import (
    PrivacyLimits,
    Settings,
    expanded,
    keep_allowed,
    ledger_path,
    read_allowed,
    read_paired,
    read_settings,
    sample_store_path,
    store_path,
)
from edge_app.service.requests import ServiceConfig
from edge_app.transport import Cadence, is_this_machine
from models.files import find, locate
from models.folders import state_folder
from models.running.settings import PersonalAdapter

if TYPE_CHECKING:
    from edge_app.privacy.reading import Detokenize

_LONGEST = 36_500.0  # days: a hundred years


def config_of(settings: Settings, options: Mapping[str, Any]) -> ServiceConfig:
    """The configuration of a command's options; --generalist means no other server."""
    names = ("server", "specialist", "generalist", "lora", "sample")
    given = {name: options[name] for name in names if name in options}
    if given.get("generalist"):
        given["server"] = ""
    return service_config(settings, **given)


def service_config(
    settings: Settings,
    *,
    server: str | None = None,
    specialist: Path | None = None,
    generalist: Path | None = None,
    lora: str | None = None,
    sample: bool = False,
    may_sample: bool = False,
) -> ServiceConfig:
    """What a writing service works with; None stands for the settings' own value. With
    `sample` the sample letters are the store; with `may_sample` they stand in while
    there are no others. Raises ModelError for a missing or invalid model file, and
    InvalidSettingsError for an invalid setting."""
    Cadence(settings.cadence)  # refused now, not when a server is asked
    if not 0.0 <= settings.ledger_days <= _LONGEST:
        raise InvalidSettingsError(
            f"ledger_days must lie between 0 and {_LONGEST:,.0f}, not "
            f"{settings.ledger_days:g}"
        )
    words = settings.lora if lora is None else lora
    adapter = worn(words, settings.personalisation)
    address = settings.server if server is None else server
    token, kept = settings.token, state_folder() / "cloud-token"
    certificate, also_at = settings.certificate, settings.also_at
    for other in also_at.split():
        if not other.startswith("https://"):
            raise InvalidSettingsError(f"also_at: {other} does not begin with https://")
    if address != settings.server:
        # What the paired server gave goes to no other one.
        paired, certificate, also_at = read_paired(state_folder()), "", ""
        token = "" if paired is not None and token == paired.token else token
    if not token and is_this_machine(address) and kept.is_file():
        # Of a server that the same person runs here; no other machine is given it.
        token = kept.read_text(encoding="utf-8", errors="replace").strip()
    return ServiceConfig(
        specialist=_model("specialist", specialist, settings.specialist),
        generalist=_model("generalist", generalist, settings.generalist),
        store=sample_store_path() if sample else store_path(),
        ledger=ledger_path(),
        adapter=PersonalAdapter(adapter, settings.lora_scale) if adapter else None,
        sample_store=sample_store_path() if sample or may_sample else None,
        settings=replace(
            settings,
            server=address,
            also_at=also_at,
            token=token,
            certificate=certificate,
        ),
        allowed=read_allowed(),
        allow_always=allow_always,
        engine=settings.engine_settings(),
        reranker=find(expanded(settings.reranker)) if settings.reranker else None,
        privacy=PrivacyLimits(
            settings.privacy_budget,
            settings.privacy_budget_day,
            settings.privacy_mixture,
        ),
    )


def allow_always(phrase: str) -> None:
    """Let a phrase leave in every text from now on, also those of other commands."""
    kept = read_allowed()
    if phrase and phrase not in kept:
        keep_allowed((*kept, phrase))


def _model(role: str, option: Path | None, setting: str) -> Path:
    """The path of a model, which an option may name as 'models list' does."""
    if option is None:
        return find(expanded(setting)) if setting else locate(role)
    from models.local.finding import resolve

    return find(resolve(str(option)))


@contextmanager
def detokenizers(wanted: Collection[str]) -> Iterator[dict[str, Detokenize]]:
    """Detokenizers by vocabulary; stderr says if a wanted one has no model here."""
    # The formats of the wire, which --help does without.
    from edge_app.privacy.reading import BYTES, of_bytes

    found: dict[str, Detokenize] = {BYTES: of_bytes} if wanted else {}
    wanted = set(wanted) - {BYTES}
    if not wanted:
        yield found
        return
    # llama.cpp takes 0.2 s to load, which --help does without.
    from models.running.loading import load_model

    try:
        config = service_config(read_settings())
        model = load_model(config.specialist, config.engine)
    except DecodingError as error:
        note(f"{error}; so messages are read without their words")
        yield found
        return

    def words_of(token_ids: Sequence[int]) -> str:
        try:
            return model.vocabulary.detokenize(token_ids)
        except EngineError:  # somebody edited the ledger
            return f"{len(token_ids)} token ids that no model here has"

    with closing(model):
        if wanted - {model.vocabulary_id}:
            note(
                f"some texts were begun with a model of other words than {model.path} "
                "has; theirs are not read"
            )
        yield found | {model.vocabulary_id: words_of}
