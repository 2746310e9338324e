"""`specsteer import imap --sign-in`: where its tokens lie, and that they go."""

import sys
from types import SimpleNamespace

import pytest

from edge_app.commands.store import put_under
from edge_app.config import sign_ins
from edge_app.config.settings import store_path
from edge_app.transport import oauth
from personal_store import Store, copies, keys
from tests.hostile import MARK, dangers
from tests.identity_provider import identity_provider
from tests.imap_server import mail_server
from tests.mailboxes import ME


@pytest.fixture
def provider(monkeypatch):
    monkeypatch.setattr(oauth, "_LEAST_INTERVAL", 0.0)
    with identity_provider(ME) as provider:
        yield provider


@pytest.fixture
def imported(run, provider):
    """Imports from a mail server that takes the tokens of the provider alone."""
    with mail_server() as server:
        server.tokens = provider.tokens
        where = f"127.0.0.1:{server.server_address[1]}"

        def call(*options):
            done = run("import", "imap", ME, "--server", where, *options)
            for secret in ("access-", "refresh-", "device-code-"):
                assert secret not in done.output
            return done

        yield call


@pytest.fixture
def keyring(monkeypatch):
    """A keyring that holds what it is given."""
    held = {}
    fake = SimpleNamespace(
        get_password=lambda *of: held.get(of),
        set_password=lambda *of: held.update({of[:2]: of[2]}),
        delete_password=lambda *of: held.pop(of),
        KeyringError=OSError,
    )
    for name in ("keyring", "keyring.errors"):
        monkeypatch.setitem(sys.modules, name, fake)
    return held


def lies_open(home):
    """Files that hold a token, or whose it is, in the clear."""
    words = b"access-", b"refresh-", b"127.0.0.1@"
    return [
        path
        for path in home.rglob("*")
        if path.is_file() and any(word in path.read_bytes() for word in words)
    ]


def test_a_sign_in_is_kept_sealed_and_deleted(imported, provider, keyring, home):
    """It shows the code, imports, is used again without a word, and is signed out."""
    provider.answers = ["authorization_pending"]
    first = imported("--sign-in", provider.words)
    assert (first.exit_code, first.stdout) == (0, "added 3, skipped 0, failed 0\n")
    assert "https://login.example.org/device" in first.stderr
    assert "ABCD-EFGH" in first.stderr
    assert [of[1] for of in keyring] == [f"{store_path().resolve()} mail-sign-ins"]
    assert lies_open(home) == []

    again = imported()
    assert again.stdout == "added 0, skipped 0, failed 0\n"
    assert [fields["grant_type"] for fields in provider.asked[-1:]] == ["refresh_token"]

    assert "is deleted from this device" in imported("--sign-out").stdout
    assert (keyring, (home / sign_ins.NAME).exists()) == ({}, False)
    assert "there is no sign-in" in imported("--sign-out").stdout
    assert "There is no password" in imported().stderr


def test_without_a_keyring_nothing_is_kept_beside_a_plain_store(imported, provider):
    done = imported("--sign-in", provider.words)
    assert done.stdout.startswith("added 3")
    assert "lasts for this import alone, as no keyring keeps it here" in done.stderr
    assert not store_path().with_name(sign_ins.NAME).exists()


def test_a_refused_sign_in_is_a_sentence_and_imports_nothing(imported, provider, run):
    provider.answers = ["access_denied"]
    done = imported("--sign-in", provider.words)
    assert done.exit_code == 1
    assert "told in the browser not to let this program in: run" in done.stderr
    assert "your texts  none" in run("status").stdout
    provider.code = {"user_code": f"{MARK}\x1b]52;c;aGk=\x07", "expires_in": 0}
    assert dangers(imported("--sign-in", provider.words).output) == []
    provider.code = {"user_code": f"{MARK}\u202etxt", "expires_in": 0}
    assert dangers(imported("--sign-in", provider.words).output) == []
    for words in (("--sign-in", "a@http://x.org"), ("--sign-in", "a", "--sign-out")):
        assert imported(*words).exit_code == (1 if len(words) == 2 else 2)


@pytest.mark.slow
def test_to_forget_everything_and_to_purge_end_sign_ins(keyring, run):
    ana = sign_ins.SignIn("imap.example.org", "ana", "id", "https://x.org", "refresh-1")
    for command in (("forget", "--everything"), ("purge",)):
        assert sign_ins.keep(store_path(), ana)
        done = run(*command, "--yes")
        assert done.exit_code == 0, done.output
        assert (keyring, store_path().with_name(sign_ins.NAME).exists()) == ({}, False)


@pytest.mark.slow
def test_beside_an_encrypted_store_its_key_seals_them(run, home):
    """Two accounts, of which one is signed out; a decrypted store leaves none."""
    pytest.importorskip("sqlcipher3")
    path = store_path()
    Store.open(path).close()
    copies.encrypt(path, "a passphrase")
    keys.remember(path, "a passphrase")
    ana, ben = (
        sign_ins.SignIn("imap.example.org", user, "id", "https://x.org", "refresh-1")
        for user in ("ana", "ben")
    )
    assert sign_ins.keep(path, ana)
    assert sign_ins.keep(path, ben)
    assert lies_open(home) == []
    assert sign_ins.forget(path, ana.server, "ana")
    assert sign_ins.find(path, ben.server, "ben") == ben
    assert sign_ins.find(path, ana.server, "ana") is None
    put_under("a passphrase", "a passphrase")  # what 'store tidy' does
    (home / sign_ins.NAME).write_text("sealed-1 AAAA AAAA")
    with pytest.raises(sign_ins.DamagedSealError, match=r"damaged\. Sign in again"):
        sign_ins.find(path, ben.server, "ben")
    assert sign_ins.keep(path, ben)
    assert run("store", "decrypt", "--yes").exit_code == 0
    assert not (home / sign_ins.NAME).exists()
