"""A small IMAP server on this device, which answers as it is told to."""

import base64
import re
import socketserver
import threading
from contextlib import contextmanager

from personal_store.importers import imap
from tests.mailboxes import ME, message


class Session(socketserver.StreamRequestHandler):
    """As much of IMAP4rev1 as a reader needs; anything that writes is refused."""

    disable_nagle_algorithm = True  # which waits 40 ms between small answers

    def handle(self):
        self.say("* OK ready")
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            tag, _, said = line.partition(" ")
            word = said.upper().split()[0]
            self.server.heard.append(said)
            if word in self.server.broken:
                return
            if self.server.ends_before and "FETCH" in said:
                self.server.ends_before -= 1
                if not self.server.ends_before:
                    self.say("* BYE Session invalidated - AccessTokenExpired")
                    self.server.ended |= self.server.tokens
                    self.server.tokens.clear()
                    return
            self.wfile.write(self.server.noise.get(word, b""))
            answer = getattr(self, word.lower(), None)
            status = (answer(said) or "OK") if answer else "BAD"
            self.say(f"{tag} {status} so it is")
            if word == "LOGOUT":
                return

    def say(self, line):
        self.wfile.write(line.encode() + b"\r\n")

    def capability(self, _):
        self.say("* CAPABILITY IMAP4REV1 AUTH=PLAIN")

    def login(self, said):
        return "" if said == f'LOGIN {ME} "right"' else "NO [AUTH] wrong password"

    def authenticate(self, said):
        self.say("+ ")
        answer = self.rfile.readline().decode()
        self.server.heard.append(answer)
        if not said.endswith("XOAUTH2"):
            return None
        words = base64.b64decode(answer).decode()
        token = words.removeprefix(f"user={ME}\1auth=Bearer ").removesuffix("\1\1")
        if token in self.server.tokens:
            return None
        self.say("+ " + base64.b64encode(b'{"status":"400"}').decode())
        assert self.rfile.readline() == b"\r\n"
        return f"NO {words} AUTHENTICATE failed {answer}"

    def list(self, _):
        for line in self.server.folders:
            self.say(f"* LIST {line}")

    def examine(self, _):
        mails = self.server.mails
        self.say(f"* OK [UIDVALIDITY {self.server.validity}]")
        self.say(f"* OK [UIDNEXT {max(mails, default=0) + 1}]")
        self.say(f"* {len(mails)} EXISTS")

    def uid(self, said):
        numbers = [int(n) for n in re.findall(r"\d+", said.split("(")[0])]
        if "SEARCH" in said:
            found = [n for n in self.server.mails if numbers[0] <= n <= numbers[1]]
            self.say("* SEARCH " + " ".join(map(str, found)))
            return None
        if self.server.refused & set(numbers):
            return "NO cannot convert it"
        for number in numbers:
            raw = self.server.mails[number]
            self.say(f"* 1 FETCH (UID {number} BODY[]<0> {{{len(raw)}}}")
            self.wfile.write(raw + b")\r\n")
        return None

    def logout(self, _):
        self.say("* BYE")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Session)
        self.heard = []
        self.broken = set()
        self.refused = set()  # messages that are answered with NO
        self.tokens, self.ended = set(), set()  # access tokens
        self.ends_before = 0  # which FETCH finds that they have ended; 0: none
        self.noise = {}
        self.validity = 7
        self.folders = [
            '(\\HasNoChildren) "/" INBOX',
            '(\\HasNoChildren \\Sent) "/" "[Gmail]/Gesendet &- \\"so\\""',
        ]
        self.mails = {n: message(f"This is letter {n}.", number=n) for n in (3, 5, 8)}

    def login(self, password="right", folder=""):
        port = self.server_address[1]
        return imap.Login("127.0.0.1", ME, password, port, folder)

    def fetched(self):
        """The numbers of mails asked for since the last time."""
        heard, self.heard = self.heard, []
        return [said.split()[2] for said in heard if "FETCH" in said]


@contextmanager
def mail_server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
