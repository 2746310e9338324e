"""`specsteer purge` deletes all that is ours, nothing else, and says so first."""

import fcntl
import os

import pytest
from click.shell_completion import ShellComplete

from edge_app.cli import cli
from edge_app.config.settings import store_path
from personal_store import Store, import_source
from tests.mailboxes import ME, mailbox, message


@pytest.fixture
def full(home):
    names = ("store.db", "store-backup.db", "ledger.jsonl", "settings.toml")
    for name in (*names, "mail-0123abcd.eml", "last-draft.json"):
        (home / name).write_text("geheim")
    for name in ("drafts/draft-1.jsonl", "models/m.gguf", "adapters/a/adapter.json"):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text("geheim")
    (home / "notes.txt").write_text("of somebody else")
    return home


def left(home):
    return {path.name for path in home.iterdir()}


def test_it_says_what_there_is_and_deletes_nothing_unasked(full, run):
    before = left(full)
    for words in (("--dry-run",), ()):
        done = run("purge", *words)
        assert "your letters" in done.output
        assert "drafts of the app" in done.output
        assert "notes.txt" not in done.output
        assert left(full) == before
    assert done.exit_code == 1
    assert "--yes does it" in done.output


def test_all_of_ours_goes_and_nothing_else(full, run, tmp_path):
    target = tmp_path / "dotfiles.toml"
    target.write_text("[method]")
    (full / "settings.toml").unlink()
    (full / "settings.toml").symlink_to(target)
    kept = os.open(full / "store.db", os.O_RDONLY)
    done = run("purge", "--yes")
    assert done.exit_code == 0, done.output
    assert left(full) == {"notes.txt"}
    assert target.read_text() == "[method]"
    assert b"geheim" not in os.read(kept, 100), "it is overwritten"
    os.close(kept)
    assert "there is nothing of ours" in run("purge", "--yes").output


def test_nothing_goes_while_something_of_ours_runs(full, run):
    for name, sentence in (
        ("drafts/draft-1.jsonl", "the app has a draft open"),
        ("store.db.lock", "an import is running"),
        ("cloud.lock", "a server works from here"),
    ):
        with (full / name).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            done = run("purge", "--yes")
        assert done.exit_code == 1
        assert sentence in done.output
        assert (full / "store.db").exists()


def test_every_name_that_the_program_makes_is_known(home, run):
    """A store, made as the program makes it."""
    run("search", "tea")
    run("purge", "--yes")
    assert left(home) == set()


def test_commands_and_their_values_are_completed(run):
    def completed(*words):
        *before, typed = words
        shell = ShellComplete(cli, {}, "specsteer", "_SPECSTEER_COMPLETE")
        return {item.value for item in shell.get_completions(before, typed)}

    for shell in ("bash", "zsh", "fish"):
        assert "_SPECSTEER_COMPLETE" in run("completion", shell).output
    assert completed("pu") == {"purge"}
    assert completed("write", "--specialist", "embedded-s") == {"embedded-specialist"}
    assert completed("write", "--generalist", "/no") == {"/no"}  # a file, perhaps
    assert completed("write", "--to", "lee") == set()
    with Store.open(store_path()) as store:
        mail = store_path().with_name("letters.mbox")
        # A shell would execute the last two where it inserts them.
        people = ['"Lee, Anna" <anna@example.org>', "lee@x.org"]
        people += ["Lee <lee$(id)@x.org>", "Lee <lee`id`@x.org>"]
        mail.write_bytes(
            mailbox(message(to=one, number=n) for n, one in enumerate(people))
        )
        import_source(store, "mbox", mail, me=[ME])
    assert completed("write", "--to", "lee") == {"anna@example.org", "lee@x.org"}
    assert completed("write", "--to", "bo") == set()
