"""`specsteer models`, `pair` and `unpair`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, replace
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import ContextFullError, InvalidSettingsError, ModelError
from decoding_core.foreign_text import one_line
from decoding_core.pairing import read_invitation
from edge_app.commands import options
from edge_app.commands.options import assume_yes, complete_models, confirmed
from edge_app.commands.terminal import (
    Progress,
    echo_json,
    is_interactive,
    note,
    stoppable,
)
from edge_app.config import settings as settings_file
from edge_app.config.settings import PairedServer, ledger_path, read_settings
from edge_app.evaluation import choosing
from edge_app.evaluation.choosing import gigabytes
from edge_app.privacy.ledger import Ledger
from edge_app.retrieval.personalisation import without_adapter
from models.command_line import Command, Group, choose
from models.files import HubModel, cards, hub_models, known_pairs
from models.folders import state_folder
from models.local import describing, finding
from models.local.describing import ModelDescription
from models.local.finding import FoundModel
from models.running.settings import usable_cores

if TYPE_CHECKING:
    from threading import Event

    from edge_app.evaluation.cases import Case
    from edge_app.evaluation.figures import PairCheck
    from edge_app.evaluation.other_tokens import Shared
    from edge_app.evaluation.pair import Pair
    from models.local.pulling import Offer

_Described = Sequence[tuple[FoundModel, ModelDescription]]
_Pair = tuple[ModelDescription, ModelDescription]
_PAIR = options.with_options(
    click.argument("small", metavar="SMALL", shell_complete=complete_models),
    click.argument("large", metavar="LARGE", shell_complete=complete_models),
)
_TEXTS = 200  # newest ones in which tokens are compared
_MUCH_LARGER = 1.5  # the large model's file is that many times the small one's


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
        found = finding.found_models()
        for done, one in enumerate(found, 1):
            try:
                described.append((one, describing.describe(one.path)))
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
@options.shown_option(
    "--seconds",
    type=click.FloatRange(1, 3600),
    default=60.0,
    help="How long to measure, after loading.",
)
@options.as_json
def check(small: str, large: str, sample: bool, seconds: float, as_json: bool) -> None:
    """Compare the vocabularies of two models, and measure them together.

    Any two models do. If they have different tokens, said are what both lists share,
    and what it costs that texts go as bytes.

    Said are the speed of both, how many drafted tokens the large one would keep, and
    what your history is worth to the small one (S against B) and to both joined (T
    against L, the large one alone), on your own last texts; while there are too few, on
    the sample letters. All runs on this device.
    """
    paths = choosing.resolved(small, large)
    described = describing.describe(paths[0]), describing.describe(paths[1])
    with Progress("comparing the checksum", in_bytes=True) as progress:
        for path in paths:
            finding.check_pulled(path, progress.show)
    settings = read_settings()
    from edge_app.evaluation.figures import check_pair
    from edge_app.evaluation.pair import Measuring, Pair

    threshold = settings.method.threshold
    how = Measuring(
        strengths=(settings.method.strength,),
        thresholds=(0.5 if threshold == "auto" else threshold,),
        max_tokens=150,
        personalisation=without_adapter(settings.personalisation),
    )
    with ExitStack() as opened:
        stop = opened.enter_context(stoppable())
        cases, whose = _texts(opened, sample=sample)
        note("loading both models")
        pair = opened.enter_context(
            closing(Pair(*paths, settings.engine_settings(), stop))
        )
        both = _both(pair, cases)
        with Progress("measuring") as progress:
            found = check_pair(pair, cases, how, seconds, stop, progress.show)
    if not as_json:
        echo_check(described, found, how.thresholds[0], whose, both)
        return
    body = {
        "models": [asdict(one) for one in described],
        "memory": _memory(describing.pair_memory(*described)),
        "vocabularies": both and asdict(both[0]) | {"block_seconds": both[1]},
        "texts": whose,
        "threshold": how.thresholds[0],
    }
    echo_json(body | asdict(found), indent=1)


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
        licence = offer.licence or "not named"
        size = gigabytes(offer.size)
        note(f"{name}: {size} from {pulling.hub_address()}")
        address = f", {offer.licence_address}" if offer.licence_address else ""
        if known and known.licence:
            address += f" (the catalogue says: {known.licence})"
        note(f"licence: {licence}{address}")
        confirmed("Agree to it and pull?", yes=yes or choosing.is_agreed(offer))
        with Progress(f"pulling {name}", in_bytes=True) as progress:
            path = pulling.pull(offer, progress.show)
        kept = finding.read_note(finding.folder_of(offer.repository))
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
    paths = choosing.resolved(small, large)
    try:
        with Progress("comparing the checksum", in_bytes=True) as progress:
            choosing.check_usable(paths, progress.show)
    except InvalidSettingsError as error:
        if not force:
            wrong = f"{error}; --force writes it all the same"
            raise InvalidSettingsError(wrong) from error
        note(f"warning: {one_line(str(error))}")
    written, warning = choosing.use_pair(paths)
    click.echo(f"written to {written}: specialist = {small}, generalist = {large}")
    if warning:
        note(warning)


@models_command.command("remove")
@click.argument("name", shell_complete=complete_models)
@assume_yes
def remove(name: str, yes: bool) -> None:
    """Remove a model that was pulled, or what a broken pull left of it."""
    known = {one.name: one for one in hub_models()}.get(name)
    named = f"{known.repository}/{known.file}" if known else name
    # A broken pull has left no file of that name.
    path = finding.pulled_folder() / named
    repository = finding.folder_of("/".join(named.split("/")[:2]))
    if "/" not in named or not repository.is_dir():
        if known:
            raise ModelError(f"{name} was not pulled")
        path = finding.resolve(name)
    settings = read_settings()
    if str(path) in (settings.specialist, settings.generalist):
        note("settings.toml names it: 'specsteer models use' names others")
    confirmed(f"Remove {path}?", yes=yes)
    click.echo(f"removed {path}: {gigabytes(finding.remove_pulled(path))} are free")


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


def _both(pair: Pair, cases: Sequence[Case]) -> tuple[Shared, float] | None:
    """What two vocabularies share on these texts, and what a block takes on this device
    because they are two; None if they are one."""
    if pair.other is None:
        return None
    shared = pair.other.shared([case.text for case in cases[-_TEXTS:]])
    brief = min(cases, key=lambda case: len(case.request.text))  # there is room for it
    text = pair.small.vocabulary.tokenize(brief.text)
    return shared, pair.other.block_seconds(brief.request, text)


def _offer(name: str, known: HubModel | None) -> Offer:
    if known is not None:
        return choosing.offer_of(known)
    from models.local.pulling import ask_hub

    if "/" not in name:
        raise ModelError(
            f"the catalogue has no {name}; 'specsteer models list' shows it, and "
            "ORG/REPOSITORY or ORG/REPOSITORY/FILE.gguf names what a hub has"
        )
    return ask_hub("/".join(name.split("/")[:2]), "/".join(name.split("/")[2:]))


def fitting_pairs(described: _Described) -> list[tuple[FoundModel, FoundModel, int]]:
    """Pairs, the larger by half at least, with the bytes that they take on one machine;
    of two vocabularies, if there is no small model with the tokens of the large one. A
    file that lies at several places counts once."""
    files: dict[Path, tuple[FoundModel, ModelDescription]] = {}
    for one, about in described:
        files.setdefault(about.path.resolve(), (one, about))
    ordered = sorted(files.values(), key=lambda pair: pair[1].file_bytes)
    fitting = [
        (first, second)
        for at, first in enumerate(ordered)
        for second in ordered[at + 1 :]
        if second[1].file_bytes >= _MUCH_LARGER * first[1].file_bytes
    ]
    same = [
        (first, second)
        for first, second in fitting
        if first[1].vocabulary_id == second[1].vocabulary_id
    ]
    paired = [large for _, large in same]
    alone = [(small, large) for small, large in fitting if large not in paired]
    return [
        (small, large, describing.pair_memory(of_small, of_large))
        for (small, of_small), (large, of_large) in (*same, *alone)
    ]


def echo_local(
    described: _Described, pairs: Sequence[tuple[FoundModel, FoundModel, int]]
) -> None:
    """Show tables of the models on this machine, and of the pairs among them."""
    rows = [["on this machine", "family", "size", "kind", "file", "reads", "template"]]
    for one, about in described:
        reads = f"{about.context_length:,}" if about.context_length else ""
        template = "yes" if about.has_template else "none"
        named = [one.name, about.family, about.size_label, about.quantisation]
        rows.append([*named, gigabytes(about.file_bytes), reads, template])
    _echo_table(rows)
    memory = describing.machine_memory()
    rows = [["small and large", "memory", ""]]
    for small, large, needed in pairs:
        name = f"{small.name}  {large.name}"
        rows.append([name, gigabytes(needed), memory.fit(needed) or ""])
    click.echo()
    _echo_table(rows)
    if memory.total:
        click.echo(
            f"memory of this machine: {gigabytes(memory.total)}, "
            f"{gigabytes(memory.available)} of it not used now"
        )


def echo_catalogue() -> None:
    """Show tables of the models and pairs that the catalogue names."""
    rows = [["catalogue", "size", "kind", "file", "licence", "name", "here"]]
    for one in hub_models():
        size = f"{one.gigabytes:.2f} GB"
        named = [one.name, one.size, one.quantisation, size, one.licence, one.names]
        rows.append([*named, "yes" if choosing.is_here(one) else ""])
    click.echo()
    _echo_table(rows)
    rows, notes = [["pairs of the catalogue", "download", "memory", ""]], [""]
    memory = describing.machine_memory()
    for pair in known_pairs():
        needed, lacks = choosing.catalogue_memory(pair), choosing.download_bytes(pair)
        name = f"{pair.specialist}  {pair.generalist}"
        size = gigabytes(lacks) if lacks else "here"
        rows.append([name, size, gigabytes(needed), memory.fit(needed) or ""])
        notes.append(pair.note)
    click.echo()
    _echo_table(rows, notes)
    click.echo(
        "\n'seen': public pages of others name repository and file so. None was "
        "checked\nwith the hub; 'specsteer models pull' says if one is not there."
    )


def echo_recommendation() -> None:
    """Show the pair for this machine, and how to get it."""
    memory, cores = describing.machine_memory(), usable_cores()
    found = choosing.recommended_pair()
    machine = f"this machine ({gigabytes(memory.total)} of memory, {cores} cores)"
    if found is None:
        click.echo(f"for {machine}: the pair that came with SpecSteer\n")
        return
    names = f"{found.specialist} {found.generalist}"
    lacks = choosing.download_bytes(found)
    size = f"a download of {gigabytes(lacks)}" if lacks else "here already"
    click.echo(f"for {machine}: {names}, {size}")
    for command in ("pull", "use") if lacks else ("use",):
        click.echo(f"    specsteer models {command} {names}")
    click.echo()


def echo_check(
    described: _Pair,
    found: PairCheck,
    threshold: float,
    whose: str,
    both: tuple[Shared, float] | None = None,
) -> None:
    """Show what a check found, and what two vocabularies share and cost; raises
    ContextFullError if it measured no text."""
    small, large = described
    needed, memory = describing.pair_memory(*described), describing.machine_memory()
    size, number = small.vocabulary_size, small.vocabulary_id[:8]
    plain = "none in the small one: a plain one is used"
    if both is None:
        click.echo(f"vocabulary  one, of {size:,} tokens ({number})")
    else:
        _echo_shared(both[0], size, large.vocabulary_size)
    click.echo(f"template    {'yes' if small.has_template else plain}")
    click.echo(f"memory      {gigabytes(needed)}, {memory.fit(needed) or 'not known'}")
    rows = [["speed", "prompt, tokens/s", "one by one, tokens/s", "block of 9, ms"]]
    speeds = zip(described, (found.specialist, found.generalist), strict=True)
    for about, speed in speeds:
        block = f"{1000 * speed.block:.0f}"
        rows.append([about.name, f"{speed.prompt:.0f}", f"{speed.step:.1f}", block])
    click.echo()
    _echo_table(rows)
    if both is not None:
        base = f"the base's {1000 * found.specialist.block:.0f} ms"
        click.echo(f"bytes take {1000 * both[1]:.0f} ms a block here, beside {base}")
    click.echo()
    worth = found.worth
    if worth is None:
        raise ContextFullError(
            f"no text was measured in {found.seconds:.0f} s; --seconds gives more time"
        )
    click.echo(
        f"on {worth.texts} of {whose}, {worth.tokens} tokens, {found.seconds:.0f} s; "
        "in brackets 95 % intervals"
    )
    kept = _interval(worth.kept, lambda share: 100 * share, ".0f")
    click.echo(f"kept        {kept} % of drafted tokens, at threshold {threshold:g}")
    a_token = worth.texts / worth.tokens
    history = _interval(worth.history, lambda nats: exp(-nats * a_token), ".2f")
    steering = _interval(worth.steering, lambda nats: exp(-nats * a_token), ".2f")
    click.echo(f"your texts  {history} times as likely to the small one that read them")
    click.echo(f"together    {steering} times as likely as to the large one alone")
    note("how likely each token is of what was really written: above 1 is a gain")


def _echo_shared(shared: Shared, small: int, large: int) -> None:
    """Show what two vocabularies of these sizes have in common."""
    of_small, of_large = (shared.strings / one for one in (shared.small, shared.large))
    click.echo(f"vocabulary  two, of {small:,} and {large:,} tokens: texts go as bytes")
    click.echo(
        f"shared      {shared.strings:,} strings, {of_small:.0%} of the small list and "
        f"{of_large:.0%} of the large one"
    )
    click.echo(
        f"in texts    {shared.used:.1%} of the small one's tokens are in the large "
        f"list, and {shared.ends:.1%} end where one of its tokens ends"
    )


def _interval(estimate: Any, shown: Callable[[float], float], shape: str) -> str:
    words = format(shown(estimate.value), shape)
    if estimate.low is None:
        return words
    low, high = sorted(map(shown, (estimate.low, estimate.high)))
    return f"{words} ({low:{shape}} to {high:{shape}})"


def list_as_object(
    described: _Described,
    pairs: Sequence[tuple[FoundModel, FoundModel, int]],
    passed_by: Sequence[tuple[FoundModel, str]],
) -> dict[str, Any]:
    """What `list` shows, for programs."""
    best = choosing.recommended_pair()
    return {
        "memory": asdict(describing.machine_memory()),
        "cores": usable_cores(),
        "recommended": best and [best.specialist, best.generalist],
        "models": [
            asdict(about)
            | {"name": one.name, "title": about.name, "source": one.source}
            for one, about in described
        ],
        "pairs": [
            {"small": small.name, "large": large.name, **_memory(needed)}
            for small, large, needed in pairs
        ],
        "left out": [
            {"name": one.name, "path": one.path, "why": why} for one, why in passed_by
        ],
        "catalogue": [asdict(one) for one in hub_models()],
        "catalogue pairs": [
            asdict(pair)
            | {"download": choosing.download_bytes(pair)}
            | _memory(choosing.catalogue_memory(pair))
            for pair in known_pairs()
        ],
    }


def _memory(needed: int) -> dict[str, Any]:
    return {"bytes": needed, "fit": describing.machine_memory().fit(needed)}


def _echo_table(rows: list[list[str]], notes: Sequence[str] = ()) -> None:
    """Show columns side by side, each note behind its row."""
    from edge_app.evaluation.tables import aligned  # loads llama.cpp

    lines = aligned(rows)
    for line, behind in zip(lines, notes or [""] * len(lines), strict=True):
        click.echo(one_line(f"{line}  {behind}").rstrip())


@click.command("pair", cls=Command)
@click.argument("link_or_code")
@click.option(
    "--server",
    metavar="URL",
    help="The server's address, which 'specsteer-cloud pair' shows beside the code; "
    "default: the one that announces itself on this network.",
)
def pair_command(link_or_code: str, server: str | None) -> None:
    """Pair this device with the household's server.

    \b
        specsteer pair 'specsteer://pair?...'
        specsteer pair 12-K7QF-3XPM --server https://192.168.1.20:8765
        specsteer pair 12-K7QF-3XPM      # the server was started with --announce

    'specsteer-cloud pair NAME' on the server shows what to give. The address, a token
    of this device and the server's certificate are kept in the state folder, for your
    eyes alone; from then on no other certificate is taken.
    """
    from edge_app.transport.pairing import pair  # loads an HTTP client: 0.2 s

    invitation = read_invitation(link_or_code)
    if server:
        invitation = replace(invitation, url=server)
    with stoppable() as stop, closing(Ledger(ledger_path())) as ledger:
        if not invitation.url:
            invitation = replace(invitation, url=_on_the_network(stop))
        paired = pair(invitation, ledger.add, stop)
    settings_file.write_paired(state_folder(), paired)
    click.echo(
        f"paired with {paired.server} as '{one_line(paired.name)}' of "
        f"{one_line(paired.user)}"
    )
    _warn_of_others(paired)


def _on_the_network(stop: Event) -> str:
    """The address of the household server that announces itself here, or of the one
    that the person chooses; raises as `find_servers`, and InvalidSettingsError if
    several do and nobody can be asked."""
    from edge_app.transport.discovery import find_servers

    note("looking for the server on this network")
    found = find_servers(stop)
    shown = [f"{one.name} at {one.url}" for one in found]
    if len(found) == 1:
        note(f"found {shown[0]}")
        return found[0].url
    if not is_interactive():
        raise InvalidSettingsError(
            f"{len(found)} servers announce themselves on this network: "
            f"{', '.join(shown)}. Add --server with the address of yours"
        )
    for number, words in enumerate(shown, 1):
        note(f"  {number}  {words}")
    numbers = [str(number) for number in range(1, len(found) + 1)]
    return found[int(choose("Which one is yours", numbers)) - 1].url


def _warn_of_others(paired: PairedServer) -> None:
    """Say which settings count before what pairing gave."""
    now, path = read_settings(), settings_file.settings_path()
    if now.server != paired.server:
        note(
            f"{path} has the line server = '{one_line(now.server)}', which counts "
            "before it: remove that line"
        )
    elif now.token != paired.token:
        note(f"{settings_file.TOKEN_VARIABLE} or {path} has a token that counts first")


@click.command("unpair", cls=Command)
def unpair_command() -> None:
    """Forget the server that this device was paired with, and its token."""
    path, name = state_folder() / settings_file.PAIRED_NAME, "NAME"
    if not path.exists():
        raise InvalidSettingsError("this device is not paired")
    with suppress(InvalidSettingsError):  # it is removed all the same
        if paired := settings_file.read_paired(path.parent):
            name = one_line(paired.name)
            click.echo(f"{one_line(paired.server)} and its token are forgotten here")
    path.unlink()
    click.echo(f"on the server: specsteer-cloud devices revoke '{name}'")
