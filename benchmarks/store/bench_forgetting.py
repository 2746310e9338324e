"""`specsteer lab bench forgetting`: false alarms of the proof that nothing is left."""

import json
import lzma
import random
import re
import statistics
import sys
import tempfile
import time
from email import policy
from email.message import EmailMessage
from pathlib import Path

import click

from benchmarks.options import AT_LEAST_ONE
from edge_app.evaluation.cases import CasesError
from models.lazy_commands import Command
from personal_store import Store, import_source
from personal_store.database.copies import back_up
from personal_store.files.private_files import size_of
from personal_store.lifecycle.forgetting import forget

_ME = "me@example.org"
_DATE = "Tue, 12 Mar 2024 11:02:03 +0100"
_ENVELOPE = b"From - Tue Mar 12 10:02:03 2024\n"
_AT_ONCE = (1, 1, 2, 5, 20, 100)
"""How many texts go at once."""

Texts = list[tuple[str, str, str]]


def read_texts(folder: Path) -> Texts:
    """Writer, title and words of every text of the histories in a folder.

    Raises:
        CasesError: a file holds no histories.
    """
    found = []
    for file in sorted(folder.glob("*.jsonl.xz")):
        try:
            with lzma.open(file, "rt", encoding="utf-8") as lines:
                for user in map(json.loads, lines):
                    found += [
                        (user["user"], one["prompt"], one["text"])
                        for one in user["history"]
                    ]
        except (lzma.LZMAError, EOFError, ValueError, LookupError, TypeError) as error:
            raise CasesError(f"{file} holds no histories as .jsonl.xz") from error
    return found


def fill(store: Store, texts: Texts, rng: random.Random) -> None:
    """Import the texts, some as mail and some as notes."""
    mails, notes = [], []
    for number, (writer, title, words) in enumerate(texts):
        if number % 3 == 0:
            notes.append(json.dumps({"text": words, "title": title[:200]}))
            continue
        other = f"{writer} <{writer.encode().hex()[:40]}@example.org>"
        is_own = number % 7
        message = EmailMessage(policy.default.clone(cte_type="8bit", utf8=True))
        message["From"] = f"Me <{_ME}>" if is_own else other
        message["To"] = other if is_own else _ME
        message["Subject"] = " ".join(title.split())[:150]
        message["Message-ID"] = f"<{rng.getrandbits(60):x}@example.org>"
        message["Date"] = _DATE
        quoted = rng.choice(texts)[2][:300].replace("\n", "\n> ")
        body = f"{words}\n\nOn Monday, Ana wrote:\n> {quoted}\n"
        message.set_content(body, charset="utf-8", cte="8bit")
        content = re.sub(rb"^(>*From )", rb">\1", message.as_bytes(), flags=re.M)
        mails.append(_ENVELOPE + content + b"\n")
    folder = store.path.parent
    (folder / "mails.mbox").write_bytes(b"".join(mails))
    (folder / "notes.jsonl").write_text("\n".join(notes))
    if mails:
        import_source(store, "mbox", folder / "mails.mbox", me=[_ME])
    import_source(store, "jsonl", folder / "notes.jsonl")


@click.command("forgetting", cls=Command)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--stores", type=AT_LEAST_ONE, default=10, show_default=True, help="How many."
)
@click.option(
    "--texts",
    type=AT_LEAST_ONE,
    default=3_000,
    show_default=True,
    help="In each store.",
)
@click.option(
    "--times",
    type=AT_LEAST_ONE,
    default=100,
    show_default=True,
    help="Forgettings in each.",
)
def command(folder: Path, stores: int, texts: int, times: int) -> None:
    """How often the proof of forgetting raises a false alarm.

    FOLDER holds histories as .jsonl.xz, as 'specsteer lab evaluate' reads them. Each
    store is filled with other texts, two thirds of them as mail with a quote under
    them, some by others. Again and again some texts go, chosen at random, and the proof
    is asked for. The exit status is 1 if it ever fails.

    \b
        specsteer lab bench forgetting eval/ --stores 2 --times 10
    """
    every = read_texts(folder)
    if not every:
        raise click.BadParameter(
            f"there are no texts as .jsonl.xz in '{folder}'", param_hint="'FOLDER'"
        )
    alarms = 0
    for seed in range(stores):
        rng = random.Random(seed)
        chosen = [rng.choice(every) for _ in range(texts)]
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "store.db"
            with Store.open(path) as store:
                fill(store, chosen, rng)
                if seed % 2:
                    back_up(store.db, path)
                (held,) = store.db.execute("SELECT count(*) FROM record").fetchone()
                size, seconds, gone = size_of(path), [], 0
                for _ in range(times):
                    ids = [i for (i,) in store.db.execute("SELECT id FROM record")]
                    some = rng.sample(ids, min(rng.choice(_AT_ONCE), len(ids)))
                    began = time.perf_counter()
                    proof = forget(store.db, path, some)
                    seconds.append(time.perf_counter() - began)
                    gone += len(some)
                    alarms += bool(proof.left)
                    if proof.left:
                        print(f"store {seed}, {some}: {proof.left}", file=sys.stderr)
        print(
            f"store {seed}: {held:,} texts, {size / 1e6:.1f} MB with the log, {gone:,} "
            f"gone in {times} forgettings; {statistics.median(seconds):.2f} s each, "
            f"{max(seconds):.2f} s at most",
            flush=True,
        )
    print(f"{stores * times:,} forgettings, {alarms} alarms")
    sys.exit(alarms > 0)
