"""A server on loopback that answers as llama.cpp's llama-server was seen to (of the
version in llama-cpp-python 0.3.36), with made-up logits."""

from __future__ import annotations

import numpy as np

from decoding_core.sampling import log_softmax
from tests.cloud_api.cloud_fakes import VOCABULARY, logits_after
from tests.cloud_api.fake_vllm import FakeVllm

LOWEST = -3.4028234663852886e38  # written for the logarithm of 0
UNLIKELY = -12.0  # logit of the tokens beyond those that `logits_after` knows


class FakeLlamaServer(FakeVllm):
    """`vocabulary` are the tokens that it cuts texts into, `file` what it has loaded;
    `parts` are tokens that are parts of a character; `bent` makes it say probabilities
    after its samplers, as old ones do."""

    def __init__(self, salt, *, size=VOCABULARY, vocabulary=None, file="", length=129):
        self.size, self.vocabulary, self.file = size, vocabulary, file
        self.bent, self.parts = False, ()
        self.piece = lambda token: self.vocabulary.piece(token)
        super().__init__(salt, length=length)

    def _answer(self, handler, body):
        if self.fault is not None and self.fault(handler, handler.path):
            return
        if self.key and handler.headers["Authorization"] != f"Bearer {self.key}":
            handler.say(refusal(401, "Invalid API Key"), 401)
            return
        answer, status = self._said(handler.path, body)
        handler.say(answer, status)

    def _said(self, path, body):
        if path == "/v1/models":
            card = {"object": "model", "owned_by": "llamacpp"}
            meta = {"n_vocab": self.size, "n_ctx_train": 8192}
            data = [{"id": name, **card, "meta": meta} for name in self.names]
            return {"object": "list", "data": data}, 200
        if path == "/props":
            general = {"params": {}, "n_ctx": self.length}
            answer = {"default_generation_settings": general, "total_slots": 2}
            return answer | {"model_path": self.file}, 200
        if path == "/tokenize":
            assert not body["add_special"]
            assert not body["parse_special"]
            ids = self.vocabulary.tokenize(body["content"])
            told = [{"id": one, "piece": piece_of(self.piece(one))} for one in ids]
            return {"tokens": told}, 200
        if path == "/completion":
            return self._complete(body)
        return refusal(404, "File Not Found"), 404

    def _complete(self, body):
        self.asked.append(body)
        prompt = body["prompt"]
        if not all(0 <= one < self.size for one in prompt):
            return refusal(400, "Prompt contains invalid tokens"), 400
        assert 1 <= len(prompt) < self.length
        assert body["cache_prompt"]
        answer = {"model": self.names[0]}
        if not body["n_predict"]:
            return answer, 200
        row = logits_after(self.salt, prompt)
        row = np.append(row, np.full(self.size - len(row), UNLIKELY, np.float32))
        logprobs = log_softmax(row)
        for token, bias in body.get("logit_bias", ()):
            row[token : token + 1] += bias  # nothing if there is no such token
        sampled = int(row.argmax())
        if sampled in self.parts:  # it waits for the rest, and has nothing to say yet
            return answer, 200
        if self.bent:
            logprobs = log_softmax(row)

        def told(token):
            value = float(logprobs[token])
            value = LOWEST if value < -103 else value
            return {"id": int(token), "token": "x", "bytes": [120], "logprob": value}

        best = np.argsort(-logprobs, kind="stable")[: body["n_probs"]]
        place = told(sampled) | {"top_logprobs": [told(one) for one in best]}
        return answer | {"completion_probabilities": [place]}, 200


def refusal(code, said):
    return {"error": {"code": code, "message": said, "type": "invalid_request_error"}}


def piece_of(data):
    """How `/tokenize` writes the bytes of a token."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return list(data)
