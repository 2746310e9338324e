"""`specsteer models`, `pair` and `unpair`."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import (
    InvalidSettingsError,
    ModelError,
    VocabularyMismatchError,
)
from decoding_core.foreign_text import one_line
from decoding_core.pairing import read_invitation
from edge_app.commands import options
from edge_app.commands.models_output import (
    check_as_object,
    echo_catalogue,
    echo_check,
    echo_local,
    echo_recommendation,
    fitting_pairs,
    gigabytes,
    list_as_object,
)
from edge_app.commands.options import assume_yes, complete_models, confirmed
from edge_app.commands.terminal import Progress, echo_json, note, stoppable
from edge_app.config.sealed import read_file
from edge_app.config.settings import (
    SETTINGS,
    TOKEN_VARIABLE,
    check_settings,
    ledger_path,
    read_paired,
    read_settings,
    remove_paired,
    settings_path,
    store_path,
    write_paired,
)
from edge_app.privacy.ledger import Ledger
from models.command_line import Command, Group
from models.files import HubModel, cards, hub_models
from models.folders import state_folder
from models.local.describing import (
    ModelDescription,
    describe,
    first_difference,
    machine_memory,
    pair_memory,
)
from models.local.finding import (
    FoundModel,
    check_pulled,
    folder_of,
    found_models,
    pulled_folder,
    read_note,
    remove_pulled,
    resolve,
)

if TYPE_CHECKING:
    from models.local.pulling import Offer

_PAIR = options.with_options(
    click.argument("small", metavar="SMALL", shell_complete=complete_models),
    click.argument("large", metavar="LARGE", shell_complete=complete_models),
)


@click.group("models", cls=Group)
def models_command() -> None:
    """Find, get, check and choose the pair of models.

    A model is named by the catalogue, by 'specsteer models list', or by its path: a
    GGUF file, or a folder of the transformers engine. 'embedded' is what comes with
    this program.

    \b
        specsteer models list
        specsteer models pull qwen3-0.6b qwen3-8b
        specsteer models check qwen3-0.6b qwen3-8b
        specsteer models use qwen3-0.6b qwen3-8b
    """


@models_command.command("list")
@click.option("--all", "every", is_flag=True, help="Also what is no language model.")
@options.as_json
def list_models(every: bool, as_json: bool) -> None:
    """Show the pair for this machine, the models on it, which fit, and the catalogue.

    Looked through are what came with this program, what it pulled, and the folders of
    Ollama, LM Studio, Hugging Face's libraries and llama.cpp. Only headers are read.
    """
    described: list[tuple[FoundModel, ModelDescription]] = []
    passed_by: list[tuple[FoundModel, str]] = []
    with Progress("reading headers") as progress:
        found = found_models()
        for done, one in enumerate(found, 1):
            try:
                described.append((one, describe(one.path)))
            except ModelError as error:
                passed_by.append((one, str(error)))
            progress.show(done, len(found))
    pairs = fitting_pairs(described)
    if as_json:
        echo_json(list_as_object(described, pairs, passed_by), indent=1)
        return
    echo_recommendation()
    echo_local(described, pairs)
    if every:
        for one, why in passed_by:
            click.echo(one_line(f"left out  {one.name}: {why}"))
    elif passed_by:
        click.echo(f"\n{len(passed_by)} others are left out; --all says why")
    echo_catalogue()


@models_command.command("check")
@_PAIR
@options.sample
@click.option(
    "--seconds",
    type=click.FloatRange(1, 3600),
    default=60.0,
    show_default=True,
    help="How long to measure, after loading.",
)
@options.as_json
def check(small: str, large: str, sample: bool, seconds: float, as_json: bool) -> None:
    """Compare the vocabularies of two models, and measure them together.

    Said are the speed of both, how many drafted tokens the large one would keep, and
    what your history is worth to the small one (S against B) and to both joined (T
    against L, the large one alone), on your own last texts; while there are too few, on
    the sample letters. All runs on this device.
    """
    paths = resolve(small, "specialist"), resolve(large, "generalist")
    described = _compared(*paths)
    for path in paths:
        _check_pulled(path)
    settings = read_settings()
    from edge_app.evaluation.figures import check_pair
    from edge_app.evaluation.pair import Measuring, Pair

    threshold = settings.method.threshold
    how = Measuring(
        strengths=(settings.method.strength,),
        thresholds=(0.5 if threshold == "auto" else threshold,),
        max_tokens=150,
        personalisation=settings.personalisation,
    )
    with ExitStack() as opened:
        stop = opened.enter_context(stoppable())
        cases, whose = _texts(opened, sample=sample)
        note("loading both models")
        pair = opened.enter_context(
            closing(Pair(*paths, settings.engine_settings(), stop))
        )
        with Progress("measuring") as progress:
            found = check_pair(pair, cases, how, seconds, stop, progress.show)
    shown = described, found, how.thresholds[0], whose
    if as_json:
        echo_json(check_as_object(*shown), indent=1)
    else:
        echo_check(*shown)


@models_command.command("pull")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@assume_yes
def pull(names: tuple[str, ...], yes: bool) -> None:
    """Get models from a hub: names of the catalogue, ORG/REPOSITORY/FILE.gguf, or
    ORG/REPOSITORY.

    What was begun is gone on with, also after a kill. The checksum is compared before
    the file takes its name. The licence is shown, and asked for once.

    HF_ENDPOINT names another hub than Hugging Face, HF_TOKEN holds a token for private
    and gated models. docs/privacy.md says what the hub is told.
    """
    from models.local import pulling

    for name in names:
        if name in {card.name for card in cards()}:
            note(f"{name} came with this program")
            continue
        known = {one.name: one for one in hub_models()}.get(name)
        offer = _offer(name, known)
        folder, licence = folder_of(offer.repository), offer.licence or "not named"
        size = gigabytes(offer.size)
        note(f"{name}: {size} from {pulling.hub_address()}")
        address = f", {offer.licence_address}" if offer.licence_address else ""
        if known and known.licence:
            address += f" (the catalogue says: {known.licence})"
        note(f"licence: {licence}{address}")
        before = read_note(folder)
        agreed = before and before.agreed and before.licence == offer.licence
        if not agreed and not confirmed("Agree to it and pull?", yes=yes):
            raise click.exceptions.Exit(1)
        with Progress(f"pulling {name}", in_bytes=True) as progress:
            path = pulling.pull(offer, progress.show)
        kept = read_note(folder)
        brought = [file.name for file in offer.files]
        whose = {kept.files[one].checked for one in brought} if kept else {""}
        click.echo(path)
        if "" in whose:
            note("the hub names no checksum for some files; sizes fit")
        else:
            note(f"checksum as the {' and the '.join(sorted(whose))} names it")


@models_command.command("use")
@_PAIR
@click.option("--force", is_flag=True, help="Also a pair that does not fit.")
def use(small: str, large: str, force: bool) -> None:
    """Write a pair into settings.toml; comments and other lines stay."""
    from edge_app.config.settings import write_settings

    paths = resolve(small, "specialist"), resolve(large, "generalist")
    try:
        described = _compared(*paths)
        needed, memory = pair_memory(*described), machine_memory()
        if described[0].file_bytes >= described[1].file_bytes:
            raise InvalidSettingsError(f"{large} is not the larger of both")
        if memory.fit(needed) == "too large":
            raise InvalidSettingsError(
                f"the pair takes about {gigabytes(needed)}, and this machine has "
                f"{gigabytes(memory.total)}"
            )
        for path in paths:
            _check_pulled(path)
    except (VocabularyMismatchError, InvalidSettingsError) as error:
        if not force:
            raise type(error)(f"{error}; --force writes it all the same") from error
        note(f"warning: {one_line(str(error))}")
    embedded = {card.path for card in cards()}
    specialist, generalist = ("" if p in embedded else str(p) for p in paths)
    written = write_settings({"specialist": specialist, "generalist": generalist})
    click.echo(f"written to {written}: specialist = {small}, generalist = {large}")
    server = read_settings().server
    if server:
        note(
            f"settings.toml names the server {server}, which has a generalist of its "
            f"own; {small} must be the base that it runs"
        )


@models_command.command("remove")
@click.argument("name", shell_complete=complete_models)
@assume_yes
def remove(name: str, yes: bool) -> None:
    """Remove a model that was pulled, or what a broken pull left of it."""
    known = {one.name: one for one in hub_models()}.get(name)
    named = f"{known.repository}/{known.file}" if known else name
    path = pulled_folder() / named  # a broken pull has left no file of that name
    if not folder_of("/".join(named.split("/")[:2])).is_dir() or "/" not in named:
        if known:
            raise ModelError(f"{name} was not pulled")
        path = resolve(name)
    settings = read_settings()
    if str(path) in (settings.specialist, settings.generalist):
        note("settings.toml names it: 'specsteer models use' names others")
    if not confirmed(f"Remove {path}?", yes=yes):
        raise click.exceptions.Exit(1)
    click.echo(f"removed {path}: {gigabytes(remove_pulled(path))} are free")


def _compared(small: Path, large: Path) -> tuple[ModelDescription, ModelDescription]:
    """What both say of themselves; raises VocabularyMismatchError with the first token
    that differs if they are no pair."""
    one, other = describe(small), describe(large)
    if one.vocabulary_id != other.vocabulary_id:
        raise VocabularyMismatchError(
            f"{small} and {large} have different vocabularies: "
            f"{first_difference(small, large)}; choose two models of one family"
        )
    return one, other


def _check_pulled(path: Path) -> None:
    with Progress("comparing the checksum", in_bytes=True) as progress:
        check_pulled(path, progress.show)


def _texts(opened: ExitStack, *, sample: bool) -> tuple[Any, str]:
    """Texts to measure, and whose they are; the sample if there are no others."""
    from edge_app.commands.measuring import cases_of
    from edge_app.evaluation.cases import CasesError

    if not sample:
        try:
            return cases_of(opened), "your texts"
        except (CasesError, InvalidSettingsError):
            note("too few texts of your own: the sample is measured")
    return cases_of(opened, sample=True), "the sample letters"


def _offer(name: str, known: HubModel | None) -> Offer:
    from models.local.pulling import ask_hub

    if known is None:
        repository, file = "/".join(name.split("/")[:2]), "/".join(name.split("/")[2:])
        if "/" not in name:
            raise ModelError(
                f"the catalogue has no {name}; 'specsteer models list' shows it, and "
                "ORG/REPOSITORY or ORG/REPOSITORY/FILE.gguf names what a hub has"
            )
        return ask_hub(repository, file)
    try:
        return ask_hub(known.repository, known.file, known.sha256)
    except ModelError as error:
        if known.names == "checked":
            raise
        raise type(error)(
            f"{error}. The catalogue's name for {name} could not be checked with a hub "
            "when it was written; give ORG/REPOSITORY/FILE.gguf to pull another file"
        ) from error


@click.command("pair", cls=Command)
@click.argument("link_or_code")
@click.option(
    "--server",
    metavar="URL",
    help="The server's address, which a code does not hold; 'specsteer-cloud pair' "
    "shows it.",
)
def pair_command(link_or_code: str, server: str | None) -> None:
    """Pair this device with the household's server.

    \b
        specsteer pair 'specsteer://pair?...'
        specsteer pair 12-K7QF-3XPM --server https://192.168.1.20:8765

    'specsteer-cloud pair NAME' on the server shows what to give. The address, a token
    of this device and the server's certificate are kept in the state folder, for your
    eyes alone; from then on no other certificate is taken.
    """
    from edge_app.transport.pairing import pair  # loads an HTTP client: 0.2 s

    invitation = read_invitation(link_or_code)
    if server:
        invitation = replace(invitation, url=server)
    if not invitation.url:
        raise InvalidSettingsError(
            "a code does not say where the server is: add --server with the address "
            "that stands beside the code"
        )
    with stoppable() as stop, closing(Ledger(ledger_path())) as ledger:
        paired = pair(invitation, ledger.add, stop)
    folder = state_folder()
    write_paired(folder, paired)
    click.echo(
        f"paired with {paired.server} as '{one_line(paired.name)}' of "
        f"{one_line(paired.user)}"
    )
    _warn_of_others(paired.server)


def _warn_of_others(server: str) -> None:
    """Say what was set before and counts before what pairing gave."""
    path = settings_path()
    if os.environ.get(TOKEN_VARIABLE):
        note(f"{TOKEN_VARIABLE} is set, and counts before its token")
    if not path.exists():
        return
    words = read_file(path, SETTINGS, store_path()).decode("utf-8", "replace")
    settings = check_settings(words, path)
    if settings.server and settings.server.rstrip("/") != server:
        note(
            f"{path} has the line server = '{one_line(settings.server)}', which counts "
            "before it: remove that line"
        )
    elif settings.token:
        note(f"{path} has a token, which counts before its own")


@click.command("unpair", cls=Command)
def unpair_command() -> None:
    """Forget the server that this device was paired with, and its token."""
    folder, name = state_folder(), "NAME"
    try:
        paired = read_paired(folder)
    except InvalidSettingsError:
        paired = None  # it is removed all the same
    if not remove_paired(folder):
        raise InvalidSettingsError("this device is not paired")
    if paired is not None:
        name = one_line(paired.name)
        click.echo(f"{one_line(paired.server)} and its token are forgotten here")
    click.echo(f"on the server: specsteer-cloud devices revoke '{name}'")
