"""`specsteer profile`."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import InvalidSettingsError, StoppedError
from decoding_core.foreign_text import legible
from edge_app.commands.stopping import stoppable
from edge_app.config.settings import read_settings, sample_store_path, store_path
from edge_app.decoding.events import Event, Notice
from models.lazy_commands import Command

if TYPE_CHECKING:
    from edge_app.service.profiles import Profile

_STOPPED = 130


@click.command("profile", cls=Command)
@click.argument(
    "what", type=click.Choice(["show", "refresh", "forget"]), default="show"
)
@click.option("--sample", is_flag=True, help="Of the sample letters, not yours.")
@click.option("--specialist", type=click.Path(path_type=Path), help="A GGUF file.")
def command(what: str, **options: Any) -> None:
    """Show, write anew or forget what the small model says of you.

    The profile is written by the small model from your newest texts, on this device.
    'specsteer write --personalisation profile' reads it, and writes it where there is
    none. It is never sent. Small models write poor ones: read yours first.

    \b
        specsteer profile refresh
        specsteer profile
        specsteer profile forget
    """
    # llama.cpp takes 0.2 s to load, which --help does without.
    from edge_app.service.profiles import profile_path, read_profile

    path = profile_path(sample_store_path() if options["sample"] else store_path())
    if what == "refresh":
        _refresh(options)
        return
    profile = read_profile(path)
    if what == "forget":
        path.unlink(missing_ok=True)
        click.echo("forgotten" if profile else "there was none", err=True)
    elif profile is None:
        raise InvalidSettingsError(
            "there is no profile yet; 'specsteer profile refresh' writes one"
        )
    else:
        _show(profile)


def _refresh(options: dict[str, Any]) -> None:
    from edge_app.commands.service_config import service_config
    from edge_app.service.service import WritingService

    chosen = service_config(
        read_settings(),
        server="",
        specialist=options["specialist"],
        sample=options["sample"],
    )

    def show_notice(event: Event) -> None:
        if isinstance(event, Notice):
            click.echo(event.text, err=True)

    with stoppable() as stop, closing(WritingService(chosen)) as service:
        try:
            profile = service.write_profile(show_notice, stop)
        except StoppedError:
            sys.exit(_STOPPED)
    _show(profile)


def _show(profile: Profile) -> None:
    click.echo(legible(profile.text))
    click.echo(
        f"written {profile.written} from {len(profile.read)} of {profile.texts} texts "
        f"by {Path(profile.specialist).name}",
        err=True,
    )
