"""Which pairs of the catalogue suit this machine, and getting, checking and using one.

The command and the app both do it here.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from decoding_core.errors import InvalidSettingsError, ModelError, ModelNotFoundError
from edge_app.config.settings import read_settings, write_settings
from models.files import HubModel, KnownPair, cards, hub_models, known_pairs
from models.local import describing, finding
from models.local.describing import ModelDescription
from models.running.settings import usable_cores

if TYPE_CHECKING:
    from models.local.pulling import Offer

_GIGABYTES_A_CORE = 0.65
"""Weights of a checker that a core reads in about a tenth of a second, which is what a
block then takes at the least."""
_ALONE = threading.Lock()
"""Held while a hub is asked: a pull that was stopped ends before another begins."""


def recommended_pair() -> KnownPair | None:
    """The pair of the catalogue with the largest checker that fits into the unused
    memory and is read fast enough; None if only the embedded pair does."""
    memory, cores = describing.machine_memory(), usable_cores()
    fitting = {
        pair: large.gigabytes
        for pair in known_pairs()
        for _, large in [models_of(pair)]
        if memory.fit(catalogue_memory(pair)) == "fits"
        and large.gigabytes <= _GIGABYTES_A_CORE * cores
    }
    return max(fitting, key=lambda pair: fitting[pair], default=None)


def offered_pairs(first: KnownPair | None) -> list[KnownPair]:
    """The pairs of the catalogue that this machine has memory for; `first` is first."""
    memory = describing.machine_memory()
    pairs = sorted(known_pairs(), key=lambda pair: pair != first)
    return [one for one in pairs if memory.fit(catalogue_memory(one)) != "too large"]


def models_of(pair: KnownPair) -> tuple[HubModel, HubModel]:
    """Both models of a pair."""
    known = {one.name: one for one in hub_models()}
    return known[pair.specialist], known[pair.generalist]


def is_here(model: HubModel) -> bool:
    """Whether it was pulled."""
    return (finding.folder_of(model.repository) / model.file).is_file()


def download_bytes(pair: KnownPair) -> int:
    """About how many bytes of a pair's files are not on this machine."""
    lacking = (one for one in models_of(pair) if not is_here(one))
    return sum(int(one.gigabytes * 1e9) for one in lacking)


def catalogue_memory(pair: KnownPair) -> int:
    """About how many bytes a pair takes on one machine, as `pair_memory` counts."""
    small, large = models_of(pair)
    texts, length = describing.TEXTS_OF_A_SERVER, describing.LONGEST_TEXT
    return small.memory(length, 1 + texts) + large.memory(length, texts)


def gigabytes(count: int) -> str:
    """A number of bytes as a person reads it."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.0f} MB"


def offer_of(model: HubModel) -> Offer:
    """What the hub has under the name of the catalogue; raises as `ask_hub` does."""
    from models.local.pulling import ask_hub

    try:
        with _ALONE:
            return ask_hub(model.repository, model.file, model.sha256)
    except ModelNotFoundError as error:
        if model.names == "checked":
            raise
        raise ModelNotFoundError(
            f"{error}. The catalogue's name for {model.name} could not be checked with "
            "a hub when it was written; 'specsteer models pull "
            "ORG/REPOSITORY/FILE.gguf' pulls another file"
        ) from error


def is_agreed(offer: Offer) -> bool:
    """Whether the person agreed to this licence when the repository was pulled."""
    note = finding.read_note(finding.folder_of(offer.repository))
    return note is not None and note.licence == offer.licence


def pull_all(
    offers: Sequence[Offer], progress: finding.Progress, stop: threading.Event
) -> None:
    """Pull what is offered, one after the other; raises as `pull` does."""
    from models.local.pulling import pull

    before, total = 0, sum(offer.size for offer in offers)
    for offer in offers:

        def heard(done: int, _: int, before: int = before) -> None:
            progress(before + done, total)

        try:
            with _ALONE:
                pull(offer, heard, stop)
        except OSError as error:  # of the folder, before anything is asked
            folder, why = finding.folder_of(offer.repository), error.strerror
            raise ModelError(f"{folder} cannot be written: {why}") from error
        before += offer.size


def resolved(small: str, large: str) -> tuple[Path, Path]:
    """Where both models of a pair lie; raises ModelNotFoundError."""
    return finding.resolve(small, "specialist"), finding.resolve(large, "generalist")


def check_usable(
    paths: tuple[Path, Path], progress: finding.Progress
) -> tuple[ModelDescription, ModelDescription]:
    """The facts about a pair. Raises InvalidSettingsError if it does not fit this
    machine, or ModelError for changed or missing files."""
    small, large = map(describing.describe, paths)
    needed, memory = describing.pair_memory(small, large), describing.machine_memory()
    if small.file_bytes >= large.file_bytes:
        raise InvalidSettingsError(f"{paths[1].name} is not the larger of both")
    if memory.fit(needed) == "too large":
        raise InvalidSettingsError(
            f"the pair takes about {gigabytes(needed)}, and this machine has "
            f"{gigabytes(memory.total)}"
        )
    for path in paths:
        finding.check_pulled(path, progress)
    return small, large


def measured(pair: KnownPair, progress: finding.Progress, stop: threading.Event) -> str:
    """What a check of a pair finds, in words; raises as `check_usable` does."""
    paths = resolved(pair.specialist, pair.generalist)
    small, large = check_usable(paths, progress)
    from edge_app.evaluation.pair import Pair  # loads llama.cpp

    with closing(Pair(*paths, read_settings().engine_settings(), stop)) as both:
        fast, slow = both.speeds()
    tokens = f"with one vocabulary of {small.vocabulary_size:,} tokens"
    if small.vocabulary_id != large.vocabulary_id:
        sizes = f"{small.vocabulary_size:,} and {large.vocabulary_size:,}"
        tokens = f"over bytes, with vocabularies of {sizes} tokens"
    return (
        f"they fit together, {tokens}; here the small one writes {fast.step:.0f} "
        f"tokens a second, and the large one checks a block in {1000 * slow.block:.0f} "
        "ms"
    )


def use_pair(
    paths: tuple[Path, Path], settings: Path | None = None
) -> tuple[Path, str]:
    """Write a pair into the settings: their file, and a warning if they name a server,
    else nothing. Raises as `write_settings` does."""
    embedded = {card.path for card in cards()}
    specialist, generalist = ("" if path in embedded else str(path) for path in paths)
    written = write_settings(
        {"specialist": specialist, "generalist": generalist}, settings
    )
    server = read_settings(settings).server
    if not server:
        return written, ""
    return written, (
        f"settings.toml names the server {server}, which has a generalist of its "
        f"own; if that has the tokens of {paths[0].name}, this must be the base that "
        "it runs"
    )
