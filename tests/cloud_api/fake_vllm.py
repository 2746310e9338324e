"""A server on loopback that answers as vLLM 0.32 was seen to, with made-up logits.

Every answer here has the fields of one that was recorded; what a fault does to them is
up to the test.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from decoding_core.sampling import log_softmax
from models.running.interface import token_list_id
from tests.cloud_api.cloud_fakes import VOCABULARY, logits_after
from tests.waiting import moments

NAMES = tuple(f"Ġw{n:02}".encode() for n in range(VOCABULARY))
NAMES_ID = token_list_id(NAMES)


def write_tokenizer(folder, names=NAMES):
    """A `tokenizer.json` of these tokens, the last of them an added one."""
    *body, last = [one.decode() for one in names]
    content = {
        "model": {"type": "BPE", "vocab": {name: at for at, name in enumerate(body)}},
        "added_tokens": [{"id": len(body), "content": last}],
    }
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content))
    return path


class FakeVllm:
    """`salt` names the model; `most` is vLLM's --max-logprobs."""

    def __init__(self, salt, *, most=40, length=129, names=("small-talk",), port=0):
        self.salt, self.most, self.length, self.names = salt, most, length, names
        self.key = ""
        self.padding = 0  # rows of the embedding that are no tokens
        self.asked = []  # the bodies of all calls for completions
        self.fault = None
        """Called with the handler and the path; a true answer: it has replied."""
        self.damaged = 0  # how many answers hold rows that calls by id have spoilt
        self.processed = False  # as with --logprobs-mode processed_logprobs
        self.words = None  # what /tokenize says instead of the truth
        self.port = port
        self._server = None
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each answer takes 40 ms

            def do_GET(self):
                fake._answer(self, None)

            def do_POST(self):
                size = int(self.headers["Content-Length"])
                fake._answer(self, json.loads(self.rfile.read(size)))

            def say(self, body, status=200, kind="application/json"):
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            allow_reuse_address = True
            daemon_threads = True
            block_on_close = False
            open_sockets = ()

            def handle_error(self, *_):
                pass

            def process_request(self, request, address):
                self.open_sockets = (*self.open_sockets, request)
                super().process_request(request, address)

        for _ in moments("the port of before is taken"):
            with suppress(OSError):
                self._server = Server(("127.0.0.1", self.port), Handler)
                break
        self.port = self._server.server_address[1]
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(0.01,), daemon=True).start()

    def stop(self):
        """As a server that is killed: connections break too."""
        self._server.shutdown()
        self._server.server_close()
        for one in self._server.open_sockets:
            self._server.shutdown_request(one)

    def _answer(self, handler, body):
        path = handler.path
        if self.fault is not None and self.fault(handler, path):
            return
        if self.key and handler.headers["Authorization"] != f"Bearer {self.key}":
            handler.say({"error": "Unauthorized"}, 401)
        elif path == "/v1/models":
            card = {"object": "model", "max_model_len": self.length}
            data = [{"id": name, **card} for name in self.names]
            handler.say({"object": "list", "data": data})
        elif path == "/tokenize":
            words = self.words or [n.decode() for n in NAMES]
            ids = list(range(len(words)))
            handler.say({"count": len(ids), "tokens": ids, "token_strs": words})
        elif path == "/v1/completions":
            handler.say(*self._complete(body))
        else:
            handler.say({"detail": "Not Found"}, 404)

    def _complete(self, body):
        self.asked.append(body)
        most, size = self.most, VOCABULARY + self.padding
        if body["model"] not in self.names:
            return refused(404, f"The model `{body['model']}` does not exist.")
        count, by_id = body.get("logprobs"), body.get("logprob_token_ids")
        if count is not None and count > most and by_id is None:
            return refused(
                400,
                f"Requested sample logprobs of {count}, which is greater than max "
                f"allowed: {most} (parameter=logprobs, value={count})",
            )
        forced = body.get("allowed_token_ids")
        if forced and forced[0] >= size:
            return refused(400, "allowed_token_ids contains out-of-vocab token id!")
        choices = []
        for index, prompt in enumerate(body["prompt"]):
            assert 1 <= len(prompt) < self.length
            row = logits_after(self.salt, prompt)
            row = np.append(row, np.full(self.padding, 0.5, np.float32))
            logprobs = log_softmax(row)
            if self.processed and forced:
                logprobs[forced[0]] = 0.0
            sampled = forced[0] if forced else (7 * index + len(prompt)) % VOCABULARY
            wanted = by_id or np.argsort(-logprobs, kind="stable")[: count or 0]
            if self.damaged and by_id is None:
                wanted, logprobs[0] = [0], -9999.0
            top = {f"token_id:{n}": float(logprobs[n]) for n in (sampled, *wanted)}
            told = {
                "tokens": [f"token_id:{sampled}"],
                "token_logprobs": [float(logprobs[sampled])],
                "top_logprobs": [top],
            }
            choice = {"index": index, "text": "x", "finish_reason": "length"}
            choices.append(choice | {"logprobs": None if count is None else told})
        self.damaged = max(0, self.damaged - 1)
        answer = {
            "object": "text_completion",
            "model": body["model"],
            # vLLM gives them in order; nothing says that it must.
            "choices": choices[::-1],
            "system_fingerprint": "vllm-0.32.0-754ad8b0",
        }
        return answer, 200


def refused(status, said):
    return {"error": {"message": said, "code": status}}, status
