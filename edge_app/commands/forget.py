"""`specsteer forget`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from edge_app.commands.selecting import agreed, assume_yes, found, selecting, which
from edge_app.settings import store_path
from personal_store import Store, received
from personal_store.forgetting import forget, forget_everything
from personal_store.proof import Proof, Traces, files_of


@click.command("forget")
@selecting
@click.option("--everything", is_flag=True, help="Empty the store wholly.")
@assume_yes
def command(everything: bool, yes: bool, **options: Any) -> None:
    """Forget texts for good, so that no byte of them is left in the store.

    Conditions add up. What fits is shown first. A forgotten text stays forgotten when
    its source is imported again. The backup is made anew without it, and a look at the
    bytes of all files proves that nothing is left. docs/store.md says what this cannot
    reach: the export you imported from, snapshots, drafts that were sent.

    \b
        specsteer forget 17 18
        specsteer forget --person "Ana Ruiz" --until 2019-12-31
        specsteer forget --source letters.mbox --yes
        specsteer forget --everything

    With --everything also your addresses and the memory of what was forgotten go, so
    that an import brings texts back. 'specsteer trash' keeps texts for 30 days instead.
    """
    path = store_path()
    with Store.open(path) as store:
        ids = _ids(store, everything, options)
        if not agreed(store, ids, "forgotten for good", yes=yes):
            return
        traces = _traces(store, ids, everything)
        if everything:
            forget_everything(store.db, path)
        else:
            forget(store.db, path, ids)
        traces = traces.without_those_in(store.db)
    _drop_profile(path, ids)
    _tell(len(ids), traces.look_in(files_of(path)))


def _ids(store: Store, everything: bool, options: dict[str, Any]) -> list[int]:
    chosen = which(options, all_if_none=everything)
    if everything and not chosen.says_nothing():
        raise click.UsageError("--everything goes with no other condition")
    return found(store, chosen)


def _traces(store: Store, ids: Sequence[int], everything: bool) -> Traces:
    if not everything:  # pieces of texts are looked for, so they must be there
        received.read_all(store.db, ids)
    return Traces.of(store.db, ids)


def _drop_profile(path: Path, ids: Sequence[int]) -> None:
    """A profile that was written from one of the texts may quote it."""
    from edge_app.profiles import profile_path, read_profile  # llama.cpp: 0.2 s

    kept = profile_path(path)
    profile = read_profile(kept)
    if kept.exists() and (profile is None or set(profile.read) & set(ids)):
        kept.unlink()
        click.echo("the profile that was written from them is forgotten", err=True)


def _tell(texts: int, proof: Proof) -> None:
    if proof.left_in:
        names = ", ".join(str(file) for file in proof.left_in)
        click.echo(
            f"pieces of the text are still in {names}: close other programs that use "
            "the store and run 'specsteer store tidy'; delete the file if it is none "
            "of the store's own",
            err=True,
        )
        sys.exit(1)
    more = f" ({proof.shared:,} more stand in texts that stay)"
    shared = more if proof.shared else ""
    click.echo(
        f"forgot {texts:,}; none of {proof.pieces:,} pieces{shared} is left in "
        f"{len(proof.files)} files"
    )
