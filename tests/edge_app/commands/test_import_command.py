"""`specsteer import auto` and `--watch`."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import zipfile
from types import SimpleNamespace

import pytest

from edge_app.commands import import_texts, mail
from edge_app.config.settings import store_path
from edge_app.service.import_plan import import_noted
from personal_store import SourceError, Store
from personal_store.import_runs import Unfinished
from tests.mailboxes import ME, mailbox, message
from tests.waiting import PATIENCE, ROOT, wait_until

LINES = '{"body": "The weather was fine all week."}\n'
CHAT = "message_id,username,message\n1,ben,What Ben wrote to me.\n"
REVIEW = {
    "google_maps_url": "https://maps.example.org/?cid=1",
    "review_text_published": "Lovely soup, slow service.",
}


@pytest.fixture
def takeout(tmp_path):
    path = tmp_path / "takeout.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("Takeout/lines.jsonl", LINES)
        packed.writestr("Takeout/chat_history.csv", CHAT)
        features = {"features": [{"properties": REVIEW}]}
        packed.writestr("Takeout/Maps/Reviews.json", json.dumps(features))
        packed.writestr("Takeout/photo.jpg", b"\xff\xd8")
    return path


def test_everything_is_planned_and_imported_with_yes(run, takeout):
    """Without a terminal the plan is all, and says how to go on. The last line counts
    all of it; again it adds nothing."""
    planned = run("import", "auto", takeout)
    assert planned.exit_code == 0
    assert "google_reviews  1 file, " in planned.stdout
    assert "not read: chat_history.csv, which others wrote, too\n" in planned.stdout
    assert "not read: lines.jsonl, photo.jpg\n" in planned.stdout
    assert "--yes" in planned.stdout
    assert "your texts  none" in run("status").stdout
    first = run("import", "auto", takeout, "--yes")
    assert first.stdout.splitlines()[-1] == "added 1, skipped 0, failed 0"
    assert "google_reviews: added 1, skipped 0, failed 0" in first.stderr
    again = run("import", "auto", takeout, "--yes")
    assert again.stdout.splitlines()[-1] == "added 0, skipped 1, failed 0"


def test_one_that_was_broken_off_goes_on(run, tmp_path):
    """Without a path: what there is is said, and with --yes it is done; what has gone
    is offered no more."""
    for kind in ("auto", "mbox"):
        nothing = run("import", kind)
        assert (nothing.exit_code, "Missing argument" in nothing.stderr) == (2, True)
    path = tmp_path / "lines.jsonl"
    path.write_text(LINES * 3)
    begun = Unfinished("jsonl", path, mapping={"text": "body"}, done=1, total=4)

    def stop(*_):
        raise KeyboardInterrupt

    def break_off():
        with Store.open(store_path()) as store, pytest.raises(KeyboardInterrupt):
            import_noted(store, begun, stop)

    break_off()
    told = run("import", "auto")
    assert (told.exit_code, "add --yes" in told.stdout) == (0, True)
    assert f"reading {path} (jsonl) stopped at" in told.stdout
    assert "added" in run("import", "auto", "--yes").stdout
    assert run("import", "auto", "--yes").exit_code == 2
    path.write_text(LINES * 4)
    break_off()
    path.unlink()
    assert "not there any more" in run("import", "auto").stdout
    assert run("import", "auto").exit_code == 2


def test_what_does_not_say_who_wrote_it_needs_a_word(run, tmp_path):
    """The plan says which, and how; the word is for auto alone. A kind that cannot be
    imported does not stop the others: it says why, and so does the status."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "lines.jsonl").write_text(LINES)
    (folder / "diary.md").write_text("It rained in the morning.")
    refused = run("import", "auto", folder, "--yes")
    assert refused.exit_code == 1
    assert "1 jsonl, 1 markdown, which do not say who wrote them" in refused.stdout
    assert "add --mine if you wrote all of it" in refused.stderr
    for sender in "ab":
        mail = message("Whose letters are these?", sender=f"{sender}@x.org")
        (folder / f"{sender}.eml").write_bytes(mail)
    taken = run("import", "auto", folder, "--yes", "--mine")
    assert taken.stdout.splitlines()[-1] == "added 2, skipped 0, failed 0"
    assert "eml: It is not clear which address is yours" in taken.stderr
    assert taken.exit_code == 1
    wrong = run("import", "markdown", folder, "--mine")
    assert (wrong.exit_code, "--mine is for auto" in wrong.stderr) == (2, True)


def test_whose_mail_it_takes_it_for_is_said_before_it_asks(run, tmp_path):
    letter = message(sender="Tess <tess@example.org>", headers="X-Gmail-Labels: Sent")
    (tmp_path / "mail.mbox").write_bytes(mailbox([letter]))
    asked = run("import", "auto", tmp_path)
    named = run("import", "auto", tmp_path, "--me", "tess@example.net")
    assert "mbox: 1 mail\n" in asked.stdout
    assert "taking tess@example.org for you, because it sent the sent" in asked.stdout
    assert "taking tess@example.net for you, as you say" in named.stdout
    assert "your texts  none" in run("status").stdout


def test_on_a_terminal_it_asks(run, takeout, monkeypatch):
    monkeypatch.setattr(import_texts, "is_interactive", lambda: True)
    for answer in (False, True):
        monkeypatch.setattr(import_texts, "confirm", lambda *_, a=answer, **__: a)
        result = run("import", "auto", takeout)
        assert ("added 1" in result.stdout) == answer
        assert ("Nothing is imported." in result.stderr) == (not answer)


def process(program, *words):
    """A program in a process group of its own."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program, *map(str, words)]
    options = {"cwd": ROOT, "stdout": pipe, "stderr": pipe, "text": True}
    return subprocess.Popen(command, start_new_session=True, **options)


WATCH = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's "&" ignores it
from edge_app.commands import import_texts, mail
from personal_store import discovery
def looking(rounds, look=import_texts._next):
    print("looking", file=sys.stderr, flush=True)
    return look(rounds)
import_texts._next = looking
discovery.settled.__defaults__ = (0.05, *discovery.settled.__defaults__[1:])
from edge_app.cli import main
sys.argv = ["specsteer", "import", *sys.argv[1:], "--watch"]
main()
"""


@pytest.mark.parametrize(
    "kind", [("auto", "--mine"), pytest.param(("jsonl",), marks=pytest.mark.slow)]
)
def test_a_watched_folder_is_imported_again(tmp_path, kind):
    """What comes later is read; Ctrl-C ends it with the counts and status 0."""
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.jsonl").write_text(LINES)
    (folder / "b.jpg").write_bytes(b"\xff\xd8")
    told = []
    with process(WATCH, *kind, folder) as child:
        reader = threading.Thread(target=lambda: told.extend(child.stderr))
        reader.start()
        wait_until(lambda: "added 1" in "".join(told), "the first file")
        (folder / "c.jsonl").write_text('{"body": "It came a little later."}\n')
        wait_until(lambda: "".join(told).count("added 1") == 2, "the second file")
        wait_until(lambda: told[-1] == "looking\n", "it looks for no more")
        child.send_signal(signal.SIGINT)
        assert child.stdout.read() == "added 2, skipped 0, failed 0\n"
        assert child.wait(PATIENCE) == 0
        reader.join()


HELD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from personal_store import importing
from personal_store.reading import parallel
from personal_store.lifecycle.writing import ImportRun
from tests.waiting import forever
parallel.WORTHWHILE, importing.BATCH, commit = 0, 10, ImportRun.commit
def held(*whatever):
    commit(*whatever)
    print("committed", flush=True)
    forever()
ImportRun.commit = held
from edge_app.cli import main
sys.argv = ["specsteer", "import", "mbox", *sys.argv[1:]]
main()
"""


def test_ctrl_c_keeps_what_was_imported(run, tmp_path, monkeypatch):
    """It goes to all processes of a terminal, those that read mail among them; none
    stays, nothing is lost, and the same import goes on."""
    monkeypatch.setenv("SPECSTEER_HOME", str(tmp_path / "home"))
    box = tmp_path / "sent.mbox"
    box.write_bytes(mailbox(message(number=n) for n in range(300)))
    with process(HELD, box, "--me", ME) as child:
        assert child.stdout.readline() == "committed\n"
        os.killpg(child.pid, signal.SIGINT)
        told = child.communicate(timeout=PATIENCE)[1]
    assert child.returncode == 130
    assert "is kept; the same import goes on" in told
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)  # no process of the group is left
    rest = run("import", "mbox", box, "--me", ME)
    added = int(re.search(r"added (\d+)", rest.stdout)[1])
    assert 0 < added < 300
    assert "going on at" in rest.stderr
    assert "300 emails" in run("status").stdout


def test_a_password_comes_from_the_keyring_and_is_never_guessed(run, monkeypatch):
    """It is what is told to the server, and is not printed; without keyring and
    terminal the command says what to do, and asks no server."""
    command = "import", "imap", "a@example.org", "--server", "127.0.0.1:1143"
    monkeypatch.setitem(sys.modules, "keyring", None)
    result = run(*command)
    assert result.exit_code == 1
    assert "keyring set specsteer:127.0.0.1 a@example.org" in result.stderr
    known = {("specsteer:127.0.0.1", "a@example.org"): "secret"}
    keyring = SimpleNamespace(
        get_password=lambda *of: known.get(of), KeyringError=OSError
    )
    for name in ("keyring", "keyring.errors"):
        monkeypatch.setitem(sys.modules, name, keyring)
    told = []

    def connected(login):
        told.append(login)
        raise SourceError(f"refused {login}.")

    monkeypatch.setattr(mail.imap, "connected", connected)
    result = run(*command)
    assert (told[0].password, told[0].port) == ("secret", 1143)
    assert "secret" not in result.stderr
