"""A provider of tokens on this device: device codes, tokens, and what they are good
for."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

CLIENT = "1b2c3d4e-5f60-4718-92a3-b4c5d6e7f809"


class _Request(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        fields = dict(parse_qsl(body))
        path = urlsplit(self.path).path
        status, answer = getattr(self.server, path.rpartition("/")[2])(fields)
        said = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


class IdentityProvider(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, user):
        super().__init__(("127.0.0.1", 0), _Request)
        self.user = user
        self.asked = []  # forms, but those of introspection
        self.answers = []  # errors or whole answers, before the tokens
        self.code = {}  # what stands in the answer with the code
        self.tokens = set()  # access tokens that are good
        self.given = 0

    @property
    def words(self):
        """What --sign-in is told."""
        return f"{CLIENT}@http://127.0.0.1:{self.server_port}/common"

    def devicecode(self, fields):
        self.asked.append(fields)
        usual = {
            "device_code": "device-code-" * 4,
            "user_code": "ABCD-EFGH",
            "verification_uri": "https://login.example.org/device",
            "expires_in": 900,
            "interval": 0,
        }
        return 200, usual | self.code

    def token(self, fields):
        self.asked.append(fields)
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, str):
                answer = 400, {"error": answer, "error_description": f"E1: {answer}"}
            return answer
        if fields.get("refresh_token", self.refresh) != self.refresh:
            return 400, {"error": "invalid_grant", "error_description": "E70000: old"}
        self.given += 1
        access = f"access-{self.given}-" * 6
        self.tokens.add(access)
        return 200, {
            "access_token": access,
            "refresh_token": self.refresh,
            "expires_in": 3600,
            "token_type": "Bearer",
        }

    @property
    def refresh(self):
        return f"refresh-{self.given}-" * 6

    def introspect(self, fields):
        return 200, {"active": fields["token"] in self.tokens, "username": self.user}


@contextmanager
def identity_provider(user):
    with IdentityProvider(user) as provider:
        thread = threading.Thread(target=provider.serve_forever, args=(0.01,))
        thread.start()
        yield provider
        provider.shutdown()
        thread.join()
