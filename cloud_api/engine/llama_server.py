"""A model on llama.cpp's own `llama-server` as an engine: one request for each row.

Its `/completion` takes a prompt as token ids, and gives with `n_predict: 1` and
`n_probs: K` the log-probabilities of the K likeliest tokens, before any sampler. The
token that it samples has its log-probability said beside them: one that is not among
the likeliest is made the sampled one by `logit_bias`, which does not bend the row. If
that one is only a part of a character, the server says nothing, waiting for the rest:
so a row is asked for with a whole one sampled, and such a token looked up in the whole
row. The rows of a text are asked for one behind the other, as each prompt then is the
cached one and a token more; several texts are asked for at once, as far as the server
has slots.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cloud_api.engine.stock_client import StockClient, StockServerError
from cloud_api.engine.stock_server import Prompt, Row, StockEngine
from decoding_core.errors import InvalidSettingsError, VocabularyMismatchError
from models.running.interface import Language, shown_token

_ANSWER_BYTES, _TOKEN_BYTES = 1 << 20, 256
"""Of an answer, and of each token of it, whose bytes are written as numbers; few are
longer."""
_LEAST = -104.0
"""Below it a probability is 0 as float32, for which the server writes the lowest."""
_FORCING = 1e6  # added to a logit: no other token is the likeliest then
_SURELY = -1e-3  # as likely is what was forced, if the answer shows what forced it
_MOST_AT_ONCE = 8
_WORD = rb"[A-Za-z]+"


class LlamaServerEngine(StockEngine):
    """A model that a `llama-server` runs."""

    kind = "llama-server"
    at_once = 1  # several would spread a text over slots, each of which has to read it

    def __init__(
        self, client: StockClient, model: str, names: Sequence[bytes], slots: int
    ) -> None:
        """As `StockEngine`. Raises InvalidSettingsError for a base, too, whose tokens
        are asked for by id."""
        if client.role == "base":
            raise InvalidSettingsError(
                "the base cannot run on a llama-server, which gives single tokens one "
                "by one: give its GGUF file with --base, or leave it to the devices "
                "with --no-base"
            )
        self._texts: ThreadPoolExecutor | None = None
        self._given: Any = None  # tokens that it says it has
        letters = (one for one, name in enumerate(names) if re.fullmatch(_WORD, name))
        self._whole = next(letters, 0)
        """A token that is no part of a character."""
        super().__init__(client, model, names, slots)

    def close(self) -> None:
        """Close the connections."""
        super().close()
        if self._texts is not None:
            self._texts.shutdown()

    def _length(self, card: dict[str, Any]) -> Any:
        """The tokens of one of the server's slots; notes how many slots it has."""
        meta = card.get("meta")
        self._given = meta.get("n_vocab") if isinstance(meta, dict) else None
        props = self.client.ask("/props")
        slots = props.get("total_slots")
        if self._texts is None:
            most = slots if type(slots) is int else 1
            most = max(1, min(_MOST_AT_ONCE, most))
            self._texts = ThreadPoolExecutor(most, f"{self.client.role}-texts")
        general = props.get("default_generation_settings")
        return general.get("n_ctx") if isinstance(general, dict) else None

    def _check_size(self) -> None:
        """Raise what speaks against asking for single tokens: the last of the
        vocabulary is asked for, which is not among the likeliest."""
        if type(self._given) is not int or self._given < self.vocabulary_size:
            raise VocabularyMismatchError(
                f"the {self.client.role}'s server has {self._given} tokens, fewer than "
                f"the vocabulary that was given, {self.vocabulary_size}; give the GGUF "
                "file of its model with --generalist-tokenizer"
            )
        last = self.vocabulary_size - 1
        (found,) = self._values([(0,)], [last], by_id=False)
        if found[last] > _SURELY:
            raise StockServerError(
                f"the {self.client.role}'s llama-server gives probabilities after its "
                "own changes; use one of 2025 or later"
            )

    def _rows(self, prompts: Sequence[Prompt], count: int) -> list[Row]:
        rows = [self._row(one, count) for one in self._call(prompts, count)]
        if None in rows:
            raise self._malformed()
        return [row for row in rows if row is not None]

    def _call(
        self,
        prompts: Sequence[Prompt],
        count: int | None = None,
        *,
        only: int | None = None,
        by_id: Sequence[int] = (),
    ) -> list[dict[int, float]]:
        assert self._texts is not None
        assert not by_id
        chains = list[list[Prompt]]()
        for prompt in prompts:
            last = chains[-1][-1] if chains else ()
            if not chains or prompt[: len(last)] != last:
                chains.append([])
            chains[-1].append(prompt)

        def ask(chain: list[Prompt]) -> list[dict[int, float]]:
            return [self._complete(prompt, count, only) for prompt in chain]

        return [row for part in self._texts.map(ask, chains) for row in part]

    def _complete(
        self, prompt: Prompt, count: int | None, only: int | None
    ) -> dict[int, float]:
        """What the server says of the place behind a prompt."""
        wanted = count is not None or only is not None
        sampled = self._whole if only is None else only
        body: dict[str, Any] = {
            "prompt": prompt,
            "n_predict": int(wanted),
            "cache_prompt": True,
            # A server's own defaults must not choose another token.
            "samplers": ["top_k"],
            "top_k": 1,
            "temperature": 0.0,
            "mirostat": 0,
            "ignore_eos": False,
            "logit_bias": [[sampled, _FORCING]],
            "response_fields": ["model", "completion_probabilities"],
        }
        if wanted:
            body |= {"n_probs": count or 1, "post_sampling_probs": False}
        size = _ANSWER_BYTES + (count or 1) * _TOKEN_BYTES
        answer = self.client.ask("/completion", body, size)
        signature = answer.get("model"), None
        if self._signature not in (None, signature):
            raise self._changed()
        self._signature = signature
        if not wanted:
            return {}
        told = answer.get("completion_probabilities")
        if told is None and only is not None:
            return self._complete(prompt, self.vocabulary_size, None)
        place = told[0] if isinstance(told, list) and told else None
        likeliest = place.get("top_logprobs") if isinstance(place, dict) else None
        if not isinstance(place, dict) or not isinstance(likeliest, list):
            raise self._malformed()
        found = dict[int, float]()
        for one in likeliest if only is None else (place,):
            token, value = _told(one, "logprob")
            if token < 0 or type(value) not in (int, float) or value > 0:
                raise self._malformed()
            found[token] = float(max(_LEAST, value))
        return found


def check_pieces(own: Language, client: StockClient, text: str) -> None:
    """Have the server cut a text, which must give the tokens, and the bytes of each,
    that it gives here.

    Raises:
        VocabularyMismatchError: a token differs.
        DecodingError: as `StockClient.ask` does.
    """
    body = {"content": text, "with_pieces": True, "add_special": False}
    told = client.ask("/tokenize", body | {"parse_special": False}).get("tokens")
    here = own.vocabulary.tokenize(text)
    told = told if isinstance(told, list) else []
    for at in range(max(len(told), len(here))):
        token, piece = _told(told[at] if at < len(told) else {}, "piece")
        piece = _bytes(piece)
        known = own.vocabulary.piece(here[at]) if at < len(here) else b""
        if at >= len(here) or token != here[at] or piece != known:
            raise VocabularyMismatchError(
                f"the {client.role}'s server at {client.url} has other tokens: of a "
                f"text it makes {shown_token(piece)} ({token}), where those that were "
                f"given make {shown_token(known)}; give the GGUF file of its model "
                "with --generalist-tokenizer"
            )


def _told(one: Any, name: str) -> tuple[int, Any]:
    """The id of a token in an answer, -1 if it is none, and what is said of it."""
    token = one.get("id") if isinstance(one, dict) else None
    return (token, one.get(name)) if type(token) is int else (-1, None)


def _bytes(piece: Any) -> bytes:
    """The bytes of a token: of a text, or as numbers if they are none."""
    if isinstance(piece, str):
        return piece.encode("utf-8", "replace")
    numbers = piece if isinstance(piece, list) else []
    sound = all(type(one) is int and 0 <= one < 256 for one in numbers)
    return bytes(numbers) if sound else b""
