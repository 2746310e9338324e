"""`specsteer-cloud doctor`: what keeps a server from running."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from cloud_api.commands.people import open_people
from cloud_api.commands.serve import models_wanted, serve
from cloud_api.database import FILE_NAME as PEOPLE_FILE
from cloud_api.engine.models import ModelOptions, StockAddress
from cloud_api.errors import ServerError
from decoding_core.errors import DecodingError, ModelError
from decoding_core.foreign_text import one_line
from models.command_line import Command
from models.folders import check_private, state_folder

_PRIVATE = ("cloud*", "people*", "engine-*")
"""What is the server's in the state folder, which may hold other things as well."""
_GIGABYTE = 1e9


@click.command("doctor", cls=Command)
def command() -> None:
    """Check that this machine can run the server; exit status 1 if not."""
    options: dict[str, Any] = {}
    wanted: list[ModelOptions] = []

    def settings() -> str:
        options.update(serve.make_context("serve", []).params)
        wanted.append(models_wanted(options))
        return f"those of {state_folder()}"

    running = f"{version('specsteer')}, Python {platform.python_version()}"
    checks: dict[str, Callable[[], str]] = {
        "version": lambda: running,
        "settings": settings,
        "folder": _folder,
        "models": lambda: _models(wanted[0]),
        "memory": lambda: _memory(wanted[0]),
        "port": lambda: _port(options["host"], options["port"]),
        "certificate": lambda: _certificate(
            options["tls_certificate"], options["tls_key"]
        ),
    }
    sound = True
    for name, check in checks.items():
        if name == "models" and not wanted:
            break  # the settings do not say which
        try:
            words, works = check(), True
        except click.UsageError as error:
            words, works = error.format_message(), False
        except (DecodingError, OSError) as error:
            words, works = str(error), False
        sound &= works
        click.echo(f"{'ok ' if works else 'BAD'}  {name:12}{one_line(words)}")
    sys.exit(0 if sound else 1)


def _folder() -> str:
    folder = state_folder()
    there = (path for pattern in _PRIVATE for path in sorted(folder.glob(pattern)))
    return check_private(folder, there)


def _models(wanted: ModelOptions) -> str:
    """What the files say of themselves, and whether they share a vocabulary."""
    from models.local.describing import describe

    if isinstance(wanted.generalist, StockAddress):
        return f"the large one is asked for at {wanted.generalist.url} at the start"
    if not isinstance(wanted.base, Path):
        large = describe(wanted.generalist)
        said = f"{large.name} {large.quantisation}".strip()
        return f"{said}; no base: devices run it themselves, with --base edge"
    large, small = describe(wanted.generalist), describe(wanted.base)
    said = f"{large.name} {large.quantisation}".strip()
    if large.vocabulary_id != small.vocabulary_id:
        return (
            f"{said}; {small.name} has another vocabulary and is no base: devices run "
            "it themselves, and texts go as bytes"
        )
    return f"{said}; base {small.name} {small.quantisation}".strip()


def _memory(wanted: ModelOptions) -> str:
    """Whether the models and the caches of all texts fit into this machine."""
    from models.local.describing import LONGEST_TEXT, describe, machine_memory

    paths = [one for one in (wanted.generalist, wanted.base) if isinstance(one, Path)]
    if not paths:
        return "no model runs here"
    found = [describe(path) for path in paths]
    lengths = [one.context_length for one in found if one.context_length]
    length = wanted.context_length or min([*lengths, LONGEST_TEXT])
    texts = f"{wanted.slots} texts of {length} tokens"
    slots = wanted.slots
    if wanted.kv_tokens is not None:
        length, slots = wanted.kv_tokens, 1
        texts = f"texts of {length} tokens together"
    needed = sum(one.memory(length, slots) for one in found)
    machine = machine_memory()
    said = (
        f"about {needed / _GIGABYTE:.1f} GB for {texts}; free now: "
        f"{machine.available / _GIGABYTE:.1f} GB of {machine.total / _GIGABYTE:.1f}"
    )
    fit = machine.fit(needed)
    if fit == "too large":
        raise ModelError(
            f"{said}; choose a smaller model, or fewer --sessions, --context or "
            "--kv-tokens"
        )
    tight = "; only without other programs that run now"
    return said + (tight if fit == "tight" else "")


def _port(host: str, port: int) -> str:
    """Whether the server could listen; that one of ours holds the port is no fault."""
    from cloud_api import run

    try:
        run.listen(host, port).close()
    except ServerError as error:
        try:
            with run.state_lock(state_folder()):
                pass
        except ServerError:
            if "in use" in str(error):
                return f"{port} on {host}: a server of this folder runs"
        raise
    return f"{port} on {host} is free"


def _certificate(given: Path | None, key: Path | None) -> str:
    """Whether the certificate of files can be shown, and for how long."""
    if given is None:
        said = "the server's own, which devices take at pairing; it does not end"
        if not (state_folder() / PEOPLE_FILE).exists():  # a look makes none
            return said
        with open_people() as people:
            running = [one for _, one in people.listening() if one]
        return f"{said}; SHA-256 of its public key: {running[0]}" if running else said
    # OpenSSL is loaded for it, which a server with its own certificate does without.
    from cryptography import x509

    from cloud_api import admission

    admission.context_of_files(given, key)
    text = given.read_text("utf-8", "replace")
    admission.fingerprint_of(text)  # raises for a file without one
    pem = text[text.find("-----BEGIN CERTIFICATE-----") :]
    end = x509.load_pem_x509_certificate(pem.encode()).not_valid_after_utc
    days = (end - datetime.now(UTC)).days
    if days < 0:
        raise ServerError(f"{given} was good until {end:%Y-%m-%d}: get another")
    return f"{given}, good for {days} days more"
