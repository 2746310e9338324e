"""Mail from a real server, Dovecot, by tokens of a provider on this device, which the
server asks about each of them."""

import getpass
import grp
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from edge_app.commands import mail
from edge_app.config.settings import ledger_path
from edge_app.transport import oauth
from personal_store import importing
from personal_store.importers import imap
from tests.command import specsteer
from tests.identity_provider import identity_provider
from tests.mailboxes import ME, message
from tests.waiting import PATIENCE, ROOT, wait_until

pytestmark = pytest.mark.slow
DOVECOT = shutil.which("dovecot", path=f"{os.environ['PATH']}:/usr/sbin")
COUNT = 25
# As root, Dovecot's own users, who came with its package, and one for the mail.
OWN = f"""
default_login_user = {getpass.getuser()}
default_internal_user = {getpass.getuser()}
default_internal_group = {grp.getgrgid(os.getgid()).gr_name}
"""
CONFIGURATION = """
base_dir = {folder}/run
state_dir = {folder}/run
log_path = {folder}/log
protocols = imap
ssl = no
disable_plaintext_auth = no
auth_failure_delay = 0
auth_mechanisms = xoauth2
first_valid_uid = 1
mail_location = maildir:{folder}/mail
passdb {{
  driver = oauth2
  mechanisms = xoauth2
  args = {folder}/oauth2
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/mail
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    address = 127.0.0.1
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
namespace inbox {{
  inbox = yes
  mailbox "Gesendete Elemente" {{
    auto = create
    special_use = \\Sent
  }}
}}
"""
INTROSPECTION = """
introspection_mode = post
introspection_url = http://127.0.0.1:{port}/introspect
username_attribute = username
active_attribute = active
active_value = true
"""


@pytest.fixture
def provider(monkeypatch):
    monkeypatch.setattr(oauth, "_LEAST_INTERVAL", 0.0)
    with identity_provider(ME) as provider:
        yield provider


@pytest.fixture
def dovecot(provider):
    """`host:port`, and what ends all sessions of the account."""
    if DOVECOT is None:
        pytest.skip("there is no Dovecot; the package is dovecot-imapd")
    version = subprocess.run([DOVECOT, "--version"], capture_output=True, text=True)
    if not version.stdout.startswith("2.3."):
        pytest.skip(f"the settings here are for Dovecot 2.3, not {version.stdout}")
    folder = Path(tempfile.mkdtemp(prefix="dovecot-"))
    uid, gid = (os.getuid() or 65534), (os.getgid() or 65534)
    path = folder / "dovecot.conf"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    known = {"folder": folder, "uid": uid, "gid": gid, "port": port}
    path.write_text(CONFIGURATION.format(**known) + (OWN if os.getuid() else ""))
    introspection = INTROSPECTION.format(port=provider.server_port)
    (folder / "oauth2").write_text(introspection)
    (folder / "mail" / ".Gesendete Elemente" / "cur").mkdir(parents=True)
    for number in range(COUNT):
        letter = folder / "mail" / ".Gesendete Elemente" / "cur" / f"{number}:2,S"
        letter.write_bytes(message(f"This is letter {number}.", number=number))
    folder.chmod(0o755)
    if not os.getuid():
        for one in (folder / "mail", *(folder / "mail").rglob("*")):
            os.chown(one, uid, gid)
    child = subprocess.Popen([DOVECOT, "-F", "-c", path])
    try:
        wait_until(lambda: (folder / "run" / "auth-client").exists())
        doveadm = shutil.which("doveadm")
        yield (
            f"127.0.0.1:{port}",
            lambda: subprocess.run(
                [doveadm, "-c", path, "kick", ME], check=True, capture_output=True
            ),
        )
    finally:
        child.terminate()
        child.wait(PATIENCE)
        sys.stdout.write((folder / "log").read_text("utf-8", "replace"))
        shutil.rmtree(folder)


@pytest.fixture
def imported(dovecot):
    """Imports by the command; no token is in what it writes."""

    def call(*options):
        done = specsteer("import", "imap", ME, "--server", dovecot[0], *options)
        assert "access-" not in done.output
        assert "refresh-" not in done.output
        return done

    return call


@pytest.fixture
def in_the_middle(monkeypatch):
    """What is to happen once a part of the mail is in the store."""
    steps = []

    class Progress(mail.Progress):
        def show(self, done, total):
            if total == COUNT and done > 5 and steps:
                steps.pop()()

    monkeypatch.setattr(mail, "Progress", Progress)
    monkeypatch.setattr(importing, "BATCH", 5)
    monkeypatch.setattr(imap, "_AT_ONCE", 5)
    return steps


def test_an_import_end_to_end(imported, provider, home):
    provider.answers = ["authorization_pending"]
    done = imported("--sign-in", provider.words)
    assert done.stdout == f"added {COUNT}, skipped 0, failed 0\n"
    assert "and sign in there as" in done.stderr
    assert not ledger_path().exists()
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"access-" not in kept
    assert b"refresh-" not in kept
    wrong = imported("--sign-in", provider.words.replace("1b2c", "?"))
    assert (wrong.exit_code, "takes the id" in wrong.stderr) == (1, True)


@pytest.mark.parametrize("refusal", [(), ("invalid_grant",)])
def test_a_token_that_ends_in_the_middle(
    imported, provider, dovecot, in_the_middle, refusal
):
    """The server hangs up and takes the token no more: another one, and on. If there is
    none: a sentence, a status, and nothing lost; after another sign-in it goes on."""

    def end():
        provider.tokens.clear()
        provider.answers = list(refusal)
        dovecot[1]()

    in_the_middle.append(end)
    done = imported("--sign-in", provider.words)
    grants = [fields.get("grant_type") for fields in provider.asked]
    assert (grants[-1], len(grants)) == ("refresh_token", 3)
    if not refusal:
        assert done.stdout == f"added {COUNT}, skipped 0, failed 0\n"
        return
    assert done.exit_code == 1
    assert "Sign in again with --sign-in" in done.stderr
    safe = r"texts, which are safe \((\d+) of yours\); the same import goes on"
    count = int(re.search(safe, done.stderr)[1])
    assert 0 < count < COUNT
    rest = imported("--sign-in", provider.words)
    assert rest.stdout == f"added {COUNT - count}, skipped 0, failed 0\n"


def test_ctrl_c_while_the_code_is_waited_for(provider, dovecot):
    """Status 130, no token beside the program's arguments, and nothing is lost."""
    provider.answers = ["authorization_pending"] * 900
    words = ("import", "imap", ME, "--server", dovecot[0], "--sign-in", provider.words)
    child = subprocess.Popen(
        [sys.executable, "-m", "edge_app.cli", *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_until(lambda: len(provider.asked) > 1)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=PATIENCE)[0]
    assert child.returncode == 130
    assert "ABCD-EFGH" in said
    assert "Traceback" not in said
    assert "device-code" not in said
    provider.answers = []
    done = specsteer(*words)
    assert done.stdout == f"added {COUNT}, skipped 0, failed 0\n"
