"""A world in which everything that a command may show is hostile."""

from __future__ import annotations

import base64
import json
import socketserver
import struct
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from decoding_core.errors import StoppedError
from edge_app.decoding.events import (
    Drafted,
    Event,
    Finished,
    Notice,
    Opened,
    Received,
    Sent,
    Settled,
    Source,
    SourcesFound,
    Statistics,
    TextDecoder,
    Token,
    Verified,
    to_json,
)
from edge_app.service.tape import RecordedService
from tests.hostile import ATTACKS, HOSTILE, MARK
from tests.mailboxes import ME, mailbox, message

NAME = f"{MARK}{ATTACKS[0]}{MARK}{ATTACKS[4]}{ATTACKS[5]}{MARK}"
"""For files: short enough for a name."""


def encoded(text: str) -> str:
    """As a header holds what is not ASCII."""
    packed = base64.b64encode(text.encode("utf-8")).decode()
    return f"=?utf-8?b?{packed}?="


def mails() -> bytes:
    """Two own letters, answers of a stranger, and what cannot be read."""
    who = f"{encoded(HOSTILE)} <\x1b[2J\x7f{MARK}@example.org>"
    me = f"{encoded(HOSTILE)} <{ME}>"
    folder = f"X-Gmail-Labels: Sent,{encoded(HOSTILE)}"
    body = f"Dear Ana, the pier photos came out well. {HOSTILE} See you soon, Sam."
    attached = (
        'Content-Type: multipart/mixed; boundary="b"\n'
        f"Content-Disposition: attachment; filename*=utf-8''{HOSTILE[:40]!r}"
    )
    own = {"sender": me, "to": who, "subject": encoded(f"pier {HOSTILE}")}
    return mailbox(
        [
            message(body, number=1, headers=folder, **own),
            message(f"Photos: {HOSTILE} are lovely", number=2, headers=folder, **own),
            message(body, number=3, headers=attached, **own),
            message(
                f"Come to the invitation of {HOSTILE} on Friday, dear Sam.",
                sender=who,
                to=me,
                subject=encoded(f"invitation {HOSTILE}"),
                number=4,
                headers=folder,
            ),
        ]
    )


def gguf() -> bytes:
    """A model of an architecture and name that steer a terminal."""

    def text(value: str) -> bytes:
        data = value.encode()
        return struct.pack("<Q", len(data)) + data

    pairs = ("general.architecture", "general.name", "tokenizer.ggml.model")
    fields = b"".join(text(p) + struct.pack("<I", 8) + text(HOSTILE) for p in pairs)
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + fields


def fill(folder: Path) -> dict[str, str]:
    """Hostile files in `folder`, by what they are."""
    hostile = folder / NAME
    hostile.mkdir()
    kinds = ("mbox", "jsonl", "zip", "gguf", "csv", "missing", "tape", "new")
    made = {kind: hostile / f"{NAME}.{kind}" for kind in kinds}
    made["eval"] = hostile / f"{NAME}.eval.jsonl"
    made["whatsapp"] = hostile / "_chat.txt"
    made["mbox"].write_bytes(mails())
    record = {"text": f"Hello {HOSTILE}", "title": HOSTILE, "recipient": HOSTILE}
    lines = [json.dumps(record), f'{{"{HOSTILE}": 1}}', f"not JSON {HOSTILE}"]
    made["jsonl"].write_text("\n".join(lines), "utf-8")
    made["csv"].write_text(f"{HOSTILE.replace(chr(13), '')},b\n1,2\n", "utf-8")
    chat = f"[12/03/2024, 10:15:00] {NAME}: hello {HOSTILE}\n"
    made["whatsapp"].write_text(chat, "utf-8")
    made["gguf"].write_bytes(gguf())
    made["tape"].write_text("\n".join(map(to_json, script())), "utf-8")
    made["eval"].write_text(f'{{"user": "{MARK}"', "utf-8")
    with zipfile.ZipFile(made["zip"], "w") as archive:
        archive.writestr(f"Takeout/Mail/{NAME}.mbox", mails())
        archive.writestr(f"Takeout/{NAME}/{NAME}.xyz", b"?")
        archive.writestr(f"Takeout/{NAME}.zip", b"PK\x03\x04broken")
    made["folder"] = hostile
    return {name: str(path) for name, path in made.items()}


class _Spiteful(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        names = ("title", "code", "version", "generalist", "base")
        names += ("session_id", "vocabulary_id")
        said = dict.fromkeys(names, HOSTILE) | {"detail": HOSTILE + 9000 * "x"}
        body = json.dumps(said, ensure_ascii=False).encode()
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("Content-Type", "application/problem+json")
        self.send_header("Location", "http://" + encoded(HOSTILE))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def spiteful_server() -> Iterator[ThreadingHTTPServer]:
    """Answers whatever it is asked with hostile words; `status` says how."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Spiteful)
    server.status = 422  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _SpitefulMail(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        said = HOSTILE.replace("\r", "").encode()
        self.wfile.write(b"* OK " + said + b"\r\n")
        while line := self.rfile.readline():
            tag, word = line.split()[:2]
            word = word.upper()
            if word == b"CAPABILITY":
                self.wfile.write(b"* CAPABILITY IMAP4REV1\r\n")
            if word == b"LIST":
                self.wfile.write(b'* LIST () "/" INBOX\r\n')
                self.wfile.write(b'* LIST () "/" "' + said + b'"\r\n')
            fine = word in (b"CAPABILITY", *self.server.fine)  # type: ignore[attr-defined]
            answer = b"OK " if fine else b"NO "
            self.wfile.write(tag + b" " + answer + said + b"\r\n")


@contextmanager
def spiteful_mail(*fine: bytes) -> Iterator[int]:
    """The port of an IMAP server that agrees to these commands, and never kindly."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _SpitefulMail) as server:
        server.daemon_threads = True
        server.fine = fine  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield server.server_address[1]
        server.shutdown()


def tokens() -> list[Token]:
    """What a hostile server makes of the vocabulary's bytes: each token is one, so that
    no token by itself spells an attack."""
    said = f"Dear Ana, {HOSTILE} you.\r\n".encode()
    decoder = TextDecoder(lambda token: bytes([token]))
    origins = ("accepted", "recovered", "bonus", "local")
    return [
        Token(byte, decoder.push(byte), origins[at // 7 % 4])  # type: ignore[arg-type]
        for at, byte in enumerate(said)
    ]


def script() -> list[Event]:
    """A text that was written with hostile letters and a hostile server."""
    drawn = tokens()
    source = Source(1, HOSTILE, 2.0, {HOSTILE: 1.0}, f"{HOSTILE}\n{HOSTILE}")
    named = Source(2, f"email to {NAME}, 2024-08-19: {HOSTILE}", 1.0, {}, HOSTILE)
    ids = tuple(token.id for token in drawn[:8])
    return [
        SourcesFound((source, named), HOSTILE),
        Opened(HOSTILE, local=False),
        Sent(1e9, f"http://[::1]/{HOSTILE}[b]", "open", 412, (), HOSTILE.encode()),
        Received(1e9, HOSTILE, 160),
        *(Drafted(token.id, token.text) for token in drawn[:8]),
        Sent(1e9, f"http://[/x]{HOSTILE}", HOSTILE, 96, ids, b"\x1b[2J"),
        Verified(8, 4, (HOSTILE, HOSTILE), 0.01),
        Notice(f"{HOSTILE} [/x] the rest is written alone"),
        *(Settled((token,)) for token in drawn),
        Finished("end", Statistics()),
    ]


class HostileDesk(RecordedService):
    """Tells of hostile things whatever it is asked."""

    def __init__(self, *_: object) -> None:
        super().__init__([script()], pace=lambda _: None, server=f"{HOSTILE} [/x]")

    def counts(self) -> dict[str, int]:
        return {"own": 4, "email": 3, HOSTILE: 1}

    def import_letters(self, kind, path, me, progress):  # type: ignore[no-untyped-def]
        progress(1, 2)
        raise StoppedError(f"{path} [/x] {HOSTILE}")
