"""`specsteer doctor`."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Callable

import click

from base.owner_only import exposure
from decoding_core.errors import DecodingError, InvalidSettingsError
from decoding_core.foreign_text import one_line
from edge_app.config.settings import Settings, read_settings, store_path
from models.folders import state_folder
from models.lazy_commands import Command
from personal_store import Store
from personal_store.errors import StoreError
from personal_store.lifecycle.forgetting import UNTIDY, is_untidy

_PRIVATE = (
    *(
        "settings.toml",
        "store*",
        "sample*",
        "ledger*",
        "cloud-token",
        "engine-*",
        "people*",
        "paired*",
        "serve-key*",
    ),
)
"""What is ours in the state folder, which may hold other things as well."""


@click.command("doctor", cls=Command)
def command() -> None:
    """Check that everything works on this machine; exit status 1 if not."""
    try:
        settings, sound = read_settings(), True
    except (DecodingError, StoreError) as error:
        settings, sound = Settings(), False
        _say("settings", str(error), sound=False)
    checks: dict[str, Callable[[Settings], str]] = {
        "python": lambda _: f"{platform.python_version()} on {platform.machine()}",
        "llama.cpp": _library,
        "accelerator": _accelerator,
        "extra buffers": _extra_buffers,
        "models": _models,
        "threads": _threads,
        "folder": _folder,
        "store": _store,
        "server": _server,
    }
    for name, check in checks.items():
        try:
            words, works = check(settings), True
        except (DecodingError, StoreError, OSError) as error:
            words, works = str(error), False
        _say(name, words, sound=works)
        sound &= works
    sys.exit(0 if sound else 1)


def _say(name: str, words: str, *, sound: bool) -> None:
    click.echo(f"{'ok ' if sound else 'BAD'}  {name:14}{one_line(words)}")


def _library(_: Settings) -> str:
    from models.engines.llama_cpp import load_library

    library = load_library()
    features = library.llama_print_system_info().decode().replace(" = 1", "")
    return f"llama-cpp-python {library.__version__}; {features.strip(' |')}"


def _accelerator(settings: Settings) -> str:
    from models.running.accelerators import describe_accelerators

    return describe_accelerators(settings.engine_settings())


def _extra_buffers(_: Settings) -> str:
    from models.running.probe import probe

    answer = probe()
    return f"{'on' if answer.works else 'off'}: {answer.reason}"


def _models(settings: Settings) -> str:
    from edge_app.commands.service_config import service_config
    from models.catalogue import cards
    from models.chat import describe_template
    from models.local.pulled import check_pulled
    from models.running.interface import check_one_vocabulary
    from models.running.loading import load_model

    chosen = service_config(settings)
    for card in cards():
        if card.path in (chosen.specialist, chosen.generalist):
            card.check()
    for path in (chosen.specialist, chosen.generalist):
        check_pulled(path)
    specialist = load_model(chosen.specialist, chosen.engine)
    generalist = load_model(chosen.generalist, chosen.engine)
    try:
        check_one_vocabulary(specialist, generalist)
        return (
            f"{specialist.name} and {generalist.name}, "
            f"vocabulary {specialist.vocabulary_id[:8]} of "
            f"{specialist.vocabulary_size}; chat template: "
            + describe_template(specialist.chat_template)
        )
    finally:
        specialist.close()
        generalist.close()


def _threads(settings: Settings) -> str:
    from edge_app.commands.service_config import service_config
    from models.running.threads import describe_threads

    if settings.threads is not None:
        return f"{settings.threads} a model, as settings.toml says"
    chosen = service_config(settings)
    return describe_threads(chosen.specialist, has_server=bool(chosen.server))


def _folder(_: Settings) -> str:
    """The state folder and what lies in it are for their owner's eyes alone."""
    folder = state_folder()
    there = [path for pattern in _PRIVATE for path in sorted(folder.glob(pattern))]
    # In a closed folder, nobody comes to a file that is open; a link leads out of it.
    reachable = [p for p in there if exposure(folder) or p.is_symlink()]
    exposed = {path: how for path in (folder, *reachable) if (how := exposure(path))}
    if exposed:
        paths = " ".join(shlex.quote(str(path)) for path in exposed)
        raise InvalidSettingsError(
            "; ".join(f"{path} {how}" for path, how in exposed.items())
            + f". 'chmod go= {paths}' hides what is yours; what is another "
            "user's does not belong here"
        )
    return f"{folder} is for your eyes alone"


def _store(_: Settings) -> str:
    with Store.open(store_path()) as store:
        if is_untidy(store.db):
            raise StoreError(UNTIDY)
        return f"{store.counts()['own']} own texts in {store_path()}"


def _server(settings: Settings) -> str:
    from decoding_core.versions import SPOKEN, versions_in, which_to_update
    from edge_app.commands.service_config import service_config
    from edge_app.transport import check_token_goes_safely
    from edge_app.transport.client import Connection

    chosen = service_config(settings)
    if not chosen.server:
        return "none set; one is started on this machine when needed"
    check_token_goes_safely(chosen.server, chosen.token, in_clear=chosen.token_in_clear)
    connection = Connection(
        chosen.server,
        chosen.token,
        lambda _: None,
        certificate=chosen.certificate,
    )
    try:
        connection.request("ready", "GET", "/readyz")
        models = connection.request("models", "GET", "/v1/models")
    finally:
        connection.close()
    if "generalist" not in models:
        raise DecodingError(f"what answers at {chosen.server} is no SpecSteer server")
    newest = models.get("version")
    named = f"{models.get('oldest_version', newest)}-{newest}"
    theirs = versions_in(named)
    if theirs is not None and SPOKEN.common(theirs) is None:
        raise DecodingError(f"{which_to_update(SPOKEN, theirs)} ({chosen.server})")
    return f"{chosen.server} answers"
