"""`specsteer exclude`, `trash`, `forget` and `reclean`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from base.owner_only import shred
from edge_app.adapters.kept import that_may_hold, without
from edge_app.commands.options import (
    agreed,
    assume_yes,
    confirmed,
    found,
    outline,
    selecting,
    selection,
)
from edge_app.commands.service_config import detokenizers
from edge_app.commands.terminal import Progress, counted, note
from edge_app.config import sign_ins
from edge_app.config.settings import ledger_path, store_path
from edge_app.service.last_draft import last_draft_path
from edge_app.tui.outside import drop_mails
from models.command_line import Command, confirm
from models.folders import state_folder
from personal_store import Store
from personal_store.lifecycle import forgetting
from personal_store.lifecycle.cleaning import reclean
from personal_store.lifecycle.overview import outlines
from personal_store.lifecycle.proof import Proof, unknown_files


@click.command("exclude", cls=Command)
@selecting
@click.option("--undo", is_flag=True, help="Use these texts again.")
@assume_yes
def exclude_command(undo: bool, yes: bool, **options: Any) -> None:
    """Keep texts, but never find or imitate them.

    \b
        specsteer exclude --kind review --until 2015-12-31
        specsteer exclude --person boss@example.org
        specsteer exclude --undo --person boss@example.org
    """
    state = "excluded" if undo else "NOT excluded"
    with Store.open(store_path()) as store:
        ids = found(store, selection(options), state)
        what = "used again" if undo else "excluded from use"
        if agreed(store, ids, what, yes=yes):
            forgetting.exclude(store.db, ids, excluded=not undo)
            click.echo(f"{len(ids):,} {what}")


@click.command("trash", cls=Command)
@click.option("--list", "listing", is_flag=True, help="Show what lies in the trash.")
@click.option("--restore", "back", is_flag=True, help="Take these texts out again.")
@assume_yes
@selecting
def trash_command(listing: bool, back: bool, yes: bool, **options: Any) -> None:
    """Put texts away for 30 days, after which they are forgotten for good.

    Until then they are never found, and can be restored. To forget at once: 'specsteer
    forget'.

    \b
        specsteer trash --words "birthday surprise"
        specsteer trash --list
        specsteer trash --restore 17
    """
    with Store.open(store_path()) as store:
        if forgetting.is_untidy(store.db):  # old trash was forgotten just now
            note(forgetting.UNTIDY)
        if listing:
            for line in outlines(store.db, forgetting.in_trash(store.db)):
                click.echo(outline(line))
            return
        lies = "trashed_at IS NOT NULL" if back else "trashed_at IS NULL"
        done = "taken out of the trash" if back else "put into the trash"
        ids = found(store, selection(options), lies)
        if not agreed(store, ids, done, yes=yes):
            return
        if back:
            forgetting.take_out_of_trash(store.db, ids)
        else:
            forgetting.put_into_trash(store.db, ids)
            done += f", to be forgotten in {forgetting.DAYS} days"
        click.echo(f"{len(ids):,} {done}")


@click.command("forget", cls=Command)
@selecting
@click.option("--everything", is_flag=True, help="Empty the store wholly.")
@assume_yes
def forget_command(everything: bool, yes: bool, **options: Any) -> None:
    """Forget texts for good, so that no byte of them is left in the store.

    Conditions add up. What fits is shown first. A forgotten text stays forgotten when
    its source is imported again. The backup is made anew without it, and every byte of
    both files is accounted for afterwards. docs/store.md says what this cannot reach:
    the export you imported from, snapshots, drafts of the app, what was sent.

    \b
        specsteer forget 17 18
        specsteer forget --person "Ana Ruiz" --until 2019-12-31
        specsteer forget --source letters.mbox --yes
        specsteer forget --everything

    With --everything also your addresses, the sign-ins to mail and the memory of what
    was forgotten go, so that an import brings texts back. 'specsteer trash' keeps texts
    for 30 days instead.
    """
    path = store_path()
    with Store.open(path) as store:
        chosen = selection(options, all_if_none=everything)
        if everything and not chosen.says_nothing():
            raise click.UsageError("--everything goes with no other condition")
        ids = found(store, chosen)
        if everything and not ids:
            # The ledger, the addresses and what was forgotten are still there.
            confirmed("No text is left. Forget all else for good?", yes=yes)
        elif not agreed(store, ids, "forgotten for good", yes=yes):
            return
        texts = {i: p.text for i in ids if (p := store.passage(i)) is not None}
        _redact_ledger(list(texts.values()), everything=everything)
        shred(last_draft_path())  # it may quote one of them
        drop_mails()
        with Progress("forgetting") as progress:
            if everything:
                sign_ins.forget_all(path)
                proof = forgetting.forget_everything(store.db, path, progress.show)
            else:
                proof = forgetting.forget(store.db, path, ids, progress.show)
    if any(state_folder().glob("drafts/*.jsonl")):
        note("drafts of the app are not looked into: Del in their list deletes one")
    _offer_adapters({i: texts.get(i, "") for i in ids}, path.name, yes=yes)
    left = [f"{file} may hold a copy of them" for file in unknown_files(path)]
    show_proof(replace(proof, left=(*proof.left, *left)), f"forgot {len(ids):,}; ")


def show_proof(proof: Proof, done: str) -> None:
    """Print what is proven after `done`; exit with status 1 if anything is left."""
    if proof.left:
        note(
            f"{done}not all of it is proven to be gone: {'; '.join(proof.left)}. Close "
            "other programs that use the store and run 'specsteer store tidy'; delete "
            "files that are none of the store's own."
        )
        sys.exit(1)
    click.echo(done + proof.sentence())


def _redact_ledger(texts: Sequence[str], *, everything: bool) -> None:
    """Take quotations of forgotten texts out of the ledger, or all words."""
    path = ledger_path()
    if not path.exists():
        return
    # The formats of the wire take a moment to load.
    from edge_app.privacy.ledger import redact
    from edge_app.privacy.reading import RUN, quoting, runs_of, sendings

    found = sendings(path, store_path())
    said = [one for one in found if one.says is not None]
    if not said:
        return
    if everything:
        lines = {one.entry.line for one in said}
    else:
        lines, runs = set(), runs_of(texts)
        with detokenizers({one.vocabulary_id for one in said}) as known:
            for vocabulary, detokenize in known.items():
                own = [one for one in found if one.vocabulary_id == vocabulary]
                lines |= quoting(own, runs, detokenize)
    if lines:
        redact(path, lines, store_path())
    done = f"what {counted(len(lines), 'message')} of the ledger said is taken out"
    note(
        f"{done if lines else 'no message of the ledger quotes them'}; words of theirs "
        f"that stand in the ledger otherwise, or fewer than {RUN} in a row, are not "
        "found, and what a server was sent it may have kept"
    )


def _offer_adapters(forgotten: Mapping[int, str], store: str, *, yes: bool) -> None:
    """Offer to delete adapters that learnt the texts; the others name them no more."""
    for adapter, held in that_may_hold(forgotten, store):
        about, words = adapter.about, "cannot be read, and may hold any text"
        if about is not None:
            words = f"was trained on {len(held):,} of them, and may hold what they say"
            adapter.keep(without(about, held))
        words = f"the adapter '{adapter.name}' {words}"
        if yes or not sys.stdin.isatty():
            note(f"{words}: 'specsteer lab adapter remove {adapter.name}' deletes it")
        elif confirm(f"{words}. Delete it?"):
            adapter.remove()
            note(f"the adapter '{adapter.name}' is deleted")


@click.command("reclean", cls=Command)
@click.option("--all", "everything", is_flag=True, help="Also those of these rules.")
def reclean_command(everything: bool) -> None:
    """Cut quotes and signatures again, with the rules of this version.

    Each text knows by which version of the rules it was made; older ones are cleaned
    again from the raw bodies that are kept. Where none is kept, importing the same
    source again does it. Ctrl-C loses nothing.

    \b
        specsteer reclean
        specsteer show 17 --raw
    """
    with Store.open(store_path()) as store, Progress("cleaning") as progress:
        done = reclean(store.db, everything=everything, progress=progress.show)
    if done.without_raw:
        note(f"of {done.without_raw:,} mails no raw body is kept")
    for kind, place in done.sources:
        note(f"specsteer import {kind} '{place}' cleans them again")
    click.echo(f"cleaned {done.looked_at:,} again, {done.changed:,} read differently")
