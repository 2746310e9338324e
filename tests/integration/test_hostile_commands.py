"""Every command, with everything hostile that it may show: no character of it steers
the terminal. The commands are read from the program, so that a new one fails here until
it has a case."""

import json
import shutil
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner
from hostile_world import (
    NAME,
    HostileDesk,
    fill,
    script,
    spiteful_mail,
    spiteful_server,
)

import edge_app.cli
from edge_app import cli as installed
from edge_app.config.settings import ledger_path, settings_path
from edge_app.privacy.ledger import Ledger
from tests.hostile import HOSTILE, MARK, dangers
from tests.mailboxes import ME

CASES = """
: --{hostile} | {hostile} | {plugin} | --help
write: x | x --plain | x --json | x --method {hostile} | x --threshold {hostile} |
    x --personalisation {hostile} | x --lora {hostile} | x --lora {gguf} |
    x --reply-to {hostile} | x --task {hostile}
import: mbox {mbox} --me {hostile} | jsonl {jsonl} | csv {csv} |
    csv {csv} --map text={hostile} | auto {zip} --yes --me {me} | auto {folder} |
    auto {missing} | whatsapp {whatsapp} | mbox {missing} | mbox {gguf} |
    {hostile} {mbox} | csv {csv} --map {hostile} | imap {hostile} --server {hostile} |
    imap {hostile} --server 127.0.0.1:{hostile} |
    imap x --server y --sign-in {hostile} |
    ~mbox {mbox} --me {me}
serve: --allow-origin {hostile} | --task {hostile} | --method {hostile} |
    --lora {hostile} | --specialist {missing} | --generalist {missing}
search: photos | photos --explain | photos --json | come --received |
    ~{hostile} --kind {hostile} | photos --since {hostile}
sent: . | --brief | --json | --bytes
replay: {tape} | {tape} --redact {new} | {tape} --redact {new} --yes |
    {tape} --redact {tape} --yes | {missing} | {jsonl} | {hostile} |
    {tape} --speed {hostile}
lab evaluate: {missing} | {eval} | {jsonl} | --{hostile}
lab tune: {missing} | {eval} | --queries {hostile} | --json {missing}/a/b
privacy check: {hostile} | {hostile} --request {hostile} --to {hostile} |
    {hostile} --json
privacy allow: ~{hostile} | ~{hostile} --undo | {hostile} && privacy allow
voice: ~. | --to {hostile} | ~--json | --{hostile}
voice set: {hostile} x | ~greeting {hostile} && voice --explain
voice strike: ~phrase {hostile} && voice
voice pin: {hostile} | ~phrase {hostile}
voice undo: ~phrase {hostile} | {hostile}
voice forget: ~. | ~--yes
lab adapter train: --name {hostile} | ~--person {hostile} | --{hostile}
lab adapter list: ~. | ~--json
lab adapter show: {hostile}
lab adapter remove: {hostile} --yes
status: . | --json
show: 1 | 1 --raw | 4 | {hostile}
me: . | {hostile}
me list: .
me add: ~{hostile}@example.net && me
me remove: ~{hostile}@example.org
me suggest: .
exclude: --words photos | --words photos --yes | ~--kind {hostile}
trash: --words photos --yes | 1 | --list | --restore 3
forget: --words photos | 1 --yes | ~--source {hostile} | --everything
reclean: ~. | ~--all | --{hostile}
store backup: .
store decrypt: --yes
store encrypt: ~. | {hostile}
store export: - | {missing} | {missing}/a | - --format {hostile}
store merge: {other} | {missing} | {gguf}
store raw: ~on | ~off | {hostile}
store restore: --yes | {missing} --yes | {gguf} --yes | {other}
store settings: . | {hostile}
store tidy: ~. | {hostile}
doctor: .
pair: {hostile} | ~specsteer://pair?code={hostile} | 1-AAAA-AAAA --server {hostile} |
    ~1-AAAA-AAAA
unpair: ~. | {hostile}
completion: ~bash | {hostile}
purge: --dry-run | {hostile}
demo: . | --seed {hostile}
models list: ~. | ~--json
models check: {gguf} {gguf} | {missing} {hostile} | {hostile} {gguf}
models pull: {hostile}
models use: {gguf} {missing} | {hostile} {hostile}
models remove: {hostile}
lab bench quality: --data {missing} | --data {eval} | --{hostile}
lab bench coverage: --requests {gguf} | --requests {eval} | --{hostile}
lab bench cleaning: --by {hostile}
lab bench capacity: --plot {hostile} {hostile} | --ways {hostile}
lab bench edits: --writers {hostile} | --{hostile}
lab bench facts: --half {hostile} | --writers {hostile}
lab bench guard: --data {missing} | --data {gguf} | --count {hostile}
lab bench importing: --seed {hostile}
lab bench latency: --runs {hostile}
lab bench load: --soak {hostile}
lab bench privacy: --conditions {hostile}
lab bench retrieval: --texts {hostile}
lab bench speed: --engines {hostile} | --json {hostile} {hostile}
"""
"""Arguments of each command, `.` for none; {names} are of the world. Hostile words that
are shown are seen by the mark beside them, but where a case begins with ~."""


def cases():
    """The words of each command, with its cases."""
    for line in CASES.replace("|\n", "|").strip().splitlines():
        path, _, found = line.partition(":")
        yield tuple(path.split()), [case.strip() for case in found.split(" | ")]


def leaves(command, path=()):
    """Every command that can be called, as the words that call it."""
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from leaves(command.get_command(context, name), (*path, name))


def test_every_command_has_a_case():
    """A new command is shown hostile words before anybody else does it."""
    assert {path for path, _ in cases()} == set(leaves(edge_app.cli.cli))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A home with hostile texts in every table, settings and a ledger."""
    folder = tmp_path_factory.mktemp("hostile")
    names = fill(folder)
    home = folder / NAME / "home"
    patch = pytest.MonkeyPatch()
    patch.setenv("SPECSTEER_HOME", str(home))
    try:
        for arguments in (
            ("import", "mbox", names["mbox"], "--me", ME),
            ("import", "jsonl", names["jsonl"]),
            ("trash", "3", "--yes"),
            ("exclude", "2", "--yes"),
            ("store", "backup"),
            ("me", "add", f"{HOSTILE}@example.org"),
        ):
            call(*arguments)
        ledger = Ledger(ledger_path())
        for event in script():
            ledger.add(event)
        ledger.close()
        patch.setenv("SPECSTEER_HOME", str(folder / NAME / "other"))
        call("me", "add", f"{HOSTILE}@example.net")
    finally:
        patch.undo()
    return home, names | {"other": str(folder / NAME / "other" / "store.db")}


@pytest.fixture
def world(prepared, tmp_path, monkeypatch):
    """A copy of the home, in a folder with a hostile name."""
    home, names = prepared
    copy = tmp_path / NAME
    shutil.copytree(home, copy)
    monkeypatch.setenv("SPECSTEER_HOME", str(copy))
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")
    plugin = EntryPoint(f"plugin-{NAME}", f"no.such.module:{NAME}", installed.COMMANDS)

    def plugins(group, name=plugin.name):
        return EntryPoints(
            [plugin] if name == plugin.name else entry_points(group=group, name=name)
        )

    monkeypatch.setattr(installed, "entry_points", plugins)
    names = names | {"plugin": plugin.name}
    return names | {"hostile": HOSTILE.replace(" ", ""), "me": ME}


def call(*arguments, program=edge_app.cli.cli):
    """All that a command printed; a fault that nobody catches is printed, too."""
    result = CliRunner(charset="utf-8").invoke(
        program, list(arguments), prog_name="specsteer"
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


@pytest.mark.parametrize(
    ("path", "case"),
    [(path, case) for path, found in cases() for case in found],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_nothing_hostile_passes(path, case, world, monkeypatch):
    monkeypatch.setattr("edge_app.service.service.WritingService", HostileDesk)
    monkeypatch.setattr("edge_app.transport.child_server.ChildServer", Mock())
    words = case.removeprefix("~").removeprefix(".")
    commands = " ".join([*path, words]).split(" && ")
    for command in commands:
        shown = call(*(word.format_map(world) for word in command.split()))
        assert dangers(shown) == []
    quiet = case.startswith("~") and len(commands) == 1
    assert (MARK in shown.upper()) is not quiet


@pytest.mark.parametrize(
    "status",
    [422, *(pytest.param(s, marks=pytest.mark.slow) for s in (200, 302, 404, 500))],
)
def test_a_hostile_server(status, world):
    """What it answers is shown in an error, a sentence of it and on one line."""
    with spiteful_server() as server:
        server.status = status
        url = f"http://127.0.0.1:{server.server_port}"
        settings_path().write_text(
            f'server = "{url}"\ntoken = "t"\ntoken_in_clear = true\n'
        )
        shown = [call("doctor"), call("write", "x", "--no-offline")]
    assert [dangers(words) for words in shown] == [[], []]
    shows_detail = status in (422, 500)
    assert (MARK in shown[1]) is shows_detail
    assert len(shown[1].splitlines()) == 1
    assert len(shown[1]) < 600, "a server may send a book"


@pytest.mark.parametrize(
    ("fine", "folder"),
    [((), ""), ((b"LOGIN", b"LIST"), "no-such"), ((b"LOGIN", b"LIST"), "INBOX")],
    ids=["login", "which", "open"],
)
def test_a_hostile_mail_server(fine, folder, world, monkeypatch):
    """Its refusals, and the names of its folders."""
    monkeypatch.setattr("edge_app.commands.mail._from_keyring", lambda *_: "right")
    with spiteful_mail(*fine) as port:
        server = f"127.0.0.1:{port}"
        shown = call("import", "imap", ME, "--server", server, "--folder", folder)
    assert MARK in shown
    assert dangers(shown) == []


def test_hostile_settings(world, monkeypatch):
    """A value, a name and what is no TOML at all."""
    monkeypatch.setattr("edge_app.service.service.WritingService", HostileDesk)
    monkeypatch.setattr("edge_app.transport.child_server.ChildServer", Mock())
    # TOML knows no escape for a half of a pair.
    quoted = json.dumps(f"{HOSTILE}\nError: forged".replace("\U000e0041", ""))
    for settings in (
        f"{quoted} = 1",
        f"threads = {quoted}",
        f"server = {quoted}",
        f"[method]\nmethod = {quoted}",
        f"personalisation = {quoted}",
        f"specialist = {quoted}",
        HOSTILE,
    ):
        settings_path().write_text(settings, "utf-8")
        for command in (["status"], ["write", "x", "--offline"]):
            shown = call(*command)
            assert dangers(shown) == [], settings
            assert "\nError: forged" not in shown, settings
