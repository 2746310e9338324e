"""A model on a stock server (vLLM) as an engine: `BatchEngine` without whole rows.

Such a server keeps no session of ours. Each row is asked for as a prompt of its own,
all rows of a step in one call of `/v1/completions` with `max_tokens: 1`; what the
prompts begin with alike comes from the server's prefix cache. It answers with
log-probabilities of the K likeliest tokens, at temperature 1: such a row has a
log-sum-exp of 0. A token that is not among them is asked for once more, as the only one
that may be sampled: its log-probability is that of the row all the same.

`logprob_token_ids`, which gives tokens by id, is asked of a base's server alone. vLLM
0.32 computes a step of several requests by one of both ways: of 270 rows that were
asked for with `logprobs: 100` beside calls by id, 86 came back with one token
(docs/log.md). Where a base is asked by id and nothing else is, no step is mixed.
"""

from __future__ import annotations

import logging
import math
import re
import secrets
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cloud_api.engine.stock_client import StockClient, StockServerError
from decoding_core.errors import (
    CloudBusyError,
    ContextFullError,
    DecodingError,
    EngineError,
)
from decoding_core.foreign_text import one_line
from decoding_core.protocols import LogitRows, Reading
from decoding_core.sampling import ArrayRows, Floats, Ids, likeliest_ids
from models.running.interface import token_list_id

MOST_CANDIDATES = 1000
"""However many a server would give: an answer of 500 rows then has 20 million bytes."""
BY_ID = 128  # tokens that vLLM gives by id in one call
UNBOUNDED = 1e30  # stands for 'no bound is known' among finite numbers
_SPARE = 4
"""Tokens asked for beyond the candidates: what ties with the last one is among them,
and the likeliest of the others is known, not bounded."""
_ROW_BYTES, _TOKEN_BYTES = 4096, 64
"""Of an answer's row, and of each token of it; vLLM 0.32 takes 500 and 40."""
_NO_LOGPROB = -9000.0  # vLLM writes -9999 for minus infinity
_ROUNDING = 1e-5  # more than float32 can have taken from a sum of a row's probabilities
_MOST_OVER = 1e-3  # by which rounding lets a row sum to more than 1
_MOST_PADDING = 8
"""Times as many rows as tokens that an embedding has at most; a likeliest token is no
less likely than if all of these were alike."""
_TOKEN_ID = re.compile(r"token_id:([0-9]{1,9})")
_TRIES = 3  # of a call whose rows came back damaged, by another's call by id
_SILENCE_SECONDS = 10.0
"""After which the server may be another one: no model is loaded in less."""
_REST_SECONDS = 1.0  # after a server was away, so long nobody waits for it again
_PROBE_TOKENS, _PROBE_DEPTH, _PROBE_NATS = 20, 10.0, 0.25
"""A model is known by its 20 likeliest tokens behind a fixed prompt. Those within 10
nats of the first may be off by a quarter: rounding depends on what else is computed."""
_LONGEST_NAME = 80
_log = logging.getLogger("cloud_api")
_T = TypeVar("_T")
Prompt = tuple[int, ...]
Pair = tuple[Prompt, int]  # A token, and what stands before it


class Row(NamedTuple):
    """What is known of a row, by rising ids; other tokens have `floor` at most."""

    known: dict[int, float]
    floor: float = 0.0

    @property
    def ids(self) -> NDArray[np.int64]:
        """The tokens (N,) that are known."""
        return np.fromiter(self.known, np.int64, len(self.known))

    @property
    def logprobs(self) -> NDArray[np.float64]:
        """Their log-probabilities (N,)."""
        return np.fromiter(self.known.values(), np.float64, len(self.known))


class StockEngine:
    """A model that a stock server runs: a `BatchEngine` and `RowsEngine` for the engine
    thread."""

    kind = "vLLM"
    at_once = 8
    """How many calls for single tokens run at once."""

    def __init__(
        self, client: StockClient, model: str, names: Sequence[bytes], slots: int
    ) -> None:
        """Find out what the server gives. `model` is a name that it serves, or "" if it
        serves a single one; `names` are the model's tokens. A base's server is never
        asked for the likeliest: others ask it by id too. Raises CloudBusyError if it
        does not answer, and StockServerError if it is no vLLM, or gives too little."""
        self.client = client
        self.is_base = client.role == "base"
        self.vocabulary_id = token_list_id(names)
        self.vocabulary_size = len(names)
        self.slots = slots
        self._tokens: list[list[int]] = [[] for _ in range(slots)]
        self._answered = time.monotonic()
        self._trouble: DecodingError | None = None
        """Why the last call failed; None: it did not."""
        self._trouble_until = -math.inf
        self._helpers = ThreadPoolExecutor(self.at_once, f"{client.role}-rows")
        self._salt = secrets.token_urlsafe(16)
        self._signature: tuple[Any, Any] | None = None
        """What each answer says of the model and of how the server was started."""
        self.name = model
        self.name, length = self._served()
        self.context_length = length - 1
        """Tokens of a prompt; the server must have room to write one behind it."""
        self.candidates = BY_ID if self.is_base else self._most_candidates()
        """The most tokens of a row that it gives."""
        self._check_size()
        self._like = self._probe()

    @property
    def trouble(self) -> DecodingError | None:
        """Why the server could not be used a moment ago; None: it could."""
        return self._trouble if time.monotonic() < self._trouble_until else None

    def rollback(self, slot: int, position: int) -> None:
        """Forget everything in a slot after its first `position` tokens."""
        if not 0 <= position <= len(self._tokens[slot]):
            raise EngineError(
                f"cannot roll back from {len(self._tokens[slot])} to {position}"
            )
        del self._tokens[slot][position:]

    def evaluate(self, readings: Sequence[Reading]) -> list[Floats]:
        """An error: a server gives no whole rows."""
        del readings
        raise EngineError("a stock server gives no whole rows of logits")

    def evaluate_rows(self, readings: Sequence[Reading]) -> list[LogitRows]:
        """Have the server read on in several slots, in one call; rows of each reading.

        Raises:
            ContextFullError: one does not fit; nothing was read.
            CloudBusyError: the server is away for now; nothing was read.
            StockServerError: it said no, or runs another model by now.
        """
        texts = [(*self._tokens[one.slot], *one.token_ids) for one in readings]
        longest = max(map(len, texts), default=0)
        if longest > self.context_length:
            raise ContextFullError(
                f"{longest} tokens do not fit into a context of {self.context_length}"
            )
        prompts = [
            text[: len(text) - reading.rows + 1 + i]
            for text, reading in zip(texts, readings, strict=True)
            for i in range(reading.rows)
        ]
        rows = self._asking(lambda: self._read(prompts, readings))
        done, found = 0, list[LogitRows]()
        for reading, text in zip(readings, texts, strict=True):
            part = slice(done, done + reading.rows)
            found.append(StockRows(self, prompts[part], rows[part]))
            self._tokens[reading.slot] = list(text)
            done += reading.rows
        return found

    def logprobs_of(self, pairs: Iterable[Pair]) -> dict[Pair, float]:
        """The log-probabilities of tokens, each behind its prompt: a base is asked for
        all of a prompt in one call, a generalist for one token behind all prompts.
        Several calls run at once. Raises as `evaluate_rows` does."""
        groups: dict[Prompt | int, list[Pair]] = {}
        for prompt, token_id in pairs:
            key = prompt if self.is_base else token_id
            groups.setdefault(key, []).append((prompt, token_id))
        parts = [
            group[start : start + BY_ID]
            for group in groups.values()
            for start in range(0, len(group), BY_ID)
        ]
        found: dict[Pair, float] = {}

        def ask(part: list[Pair]) -> None:
            prompts = list({prompt for prompt, _ in part})
            ids = sorted({token_id for _, token_id in part})
            values = self._values(prompts, ids, by_id=self.is_base)
            for prompt, row in zip(prompts, values, strict=True):
                found.update({(prompt, one): value for one, value in row.items()})

        self._asking(lambda: list(self._helpers.map(ask, parts)))
        return found

    def interrupt(self) -> None:
        """End all calls, from another thread; the engine is not used again."""
        self.client.interrupt()

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
        self._helpers.shutdown()

    def _read(
        self, prompts: Sequence[Prompt], readings: Sequence[Reading]
    ) -> list[Row]:
        """What is known of each row once the server has read the prompts."""
        asked = sorted({one for reading in readings for one in reading.asked})
        looked_at = [reading.candidates for reading in readings]
        most = self.candidates
        wanted = max(most if one is None else one for one in looked_at)
        if self.is_base and wanted and 0 < len(asked) <= BY_ID:
            rows = self._values(prompts, asked, by_id=True)
            return [Row({one: row[one] for one in asked}) for row in rows]
        if self.is_base or not wanted:
            # The server reads the text into its cache; what is asked comes later.
            self._call(prompts)
            return [Row({})] * len(prompts)
        return self._rows(prompts, min(wanted + _SPARE, most))

    def _asking(self, ask: Callable[[], _T]) -> _T:
        """What `ask` returns; whether the server could be used is noted and logged."""
        trouble, before = self.trouble, self._trouble
        if isinstance(trouble, CloudBusyError):
            raise trouble
        silent = time.monotonic() - self._answered > _SILENCE_SECONDS
        try:
            if before or silent:
                self._check_again()
            answer = ask()
        except (CloudBusyError, StockServerError) as error:
            if str(error) != str(before):  # once, however often it is tried
                _log.warning("%s (%s)", error, self.client.url)
            self._trouble = error
            self._trouble_until = time.monotonic() + _REST_SECONDS
            raise
        if before:
            _log.warning("the %s's server is back", self.client.role)
        self._trouble, self._answered = None, time.monotonic()
        return answer

    def _rows(self, prompts: Sequence[Prompt], count: int) -> list[Row]:
        """The `count` likeliest tokens behind each prompt; raises as `_call` does."""
        for _ in range(_TRIES):
            found = self._call(prompts, count)
            rows = [row for one in found if (row := self._row(one, count))]
            if len(rows) == len(found):
                return rows
        raise CloudBusyError(
            f"somebody else asks the {self.client.role}'s server for tokens by id, "
            "which spoils its other answers",
            _REST_SECONDS,
        )

    def _values(
        self, prompts: Sequence[Prompt], token_ids: list[int], *, by_id: bool
    ) -> list[dict[int, float]]:
        """The log-probabilities of up to `BY_ID` tokens behind each prompt, or of a
        single one, as the only token that may be sampled."""
        if by_id:
            found = self._call(prompts, by_id=token_ids)
        else:
            found = self._call(prompts, only=token_ids[0])
        if any(one not in row for row in found for one in token_ids):
            raise self._malformed()
        return found

    def _call(
        self,
        prompts: Sequence[Prompt],
        count: int | None = None,
        *,
        only: int | None = None,
        by_id: Sequence[int] = (),
    ) -> list[dict[int, float]]:
        """Log-probabilities behind each prompt: of the `count` likeliest tokens, of the
        `only` one that may be sampled, or `by_id`; none, if the prompts are read alone.
        Raises CloudBusyError if the server is away for now, and StockServerError if it
        said no, or its answer is invalid."""
        wanted: dict[str, Any] = {}
        if by_id:
            wanted = {"logprobs": len(by_id), "logprob_token_ids": list(by_id)}
        elif only is not None:
            wanted = {"logprobs": 0, "allowed_token_ids": [only]}
        elif count is not None:
            wanted = {"logprobs": count}
        body = {
            "model": self.name,
            "prompt": [list(prompt) for prompt in prompts],
            "max_tokens": 1,
            "return_tokens_as_token_ids": True,
            # A server's own defaults must not bend the row, whichever rows it gives.
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            # Nobody else can find out, by its speed, what was read for us.
            "cache_salt": self._salt,
            **wanted,
        }
        row_bytes = _ROW_BYTES + (wanted.get("logprobs", 0) + 2) * _TOKEN_BYTES
        size = (len(prompts) + 1) * row_bytes
        answer = self.client.ask("/v1/completions", body, size)
        signature = answer.get("model"), answer.get("system_fingerprint")
        choices = answer.get("choices")
        try:
            ordered = {choice["index"]: choice for choice in choices or ()}
        except (TypeError, KeyError) as error:
            raise self._malformed() from error
        if ordered.keys() != set(range(len(prompts))):
            raise self._malformed()
        if self._signature not in (None, signature):
            raise self._changed()
        self._signature = signature
        return [_logprobs(ordered[at]) for at in range(len(prompts))]

    def _check_again(self) -> None:
        """Raise StockServerError if the server runs another model than it did, and
        CloudBusyError if it does not answer."""
        try:
            model, length = self._served()
        except StockServerError as error:
            raise self._changed() from error
        self._signature = None  # it may have been started in another way
        if model != self.name or length <= self.context_length:
            raise self._changed()
        now = self._probe()
        least, likeliest = min(now.values()), max(self._like.values())
        for token_id, logprob in self._like.items():
            # One that is no longer among them may have lain just above the least.
            if (
                logprob > likeliest - _PROBE_DEPTH
                and abs(now.get(token_id, least) - logprob) > _PROBE_NATS
            ):
                raise self._changed()

    def _served(self) -> tuple[str, int]:
        """The name of the model, and how many tokens it reads."""
        server = f"the server at {self.client.url}"
        try:
            data = self.client.ask("/v1/models").get("data")
            data = data if isinstance(data, list) else []
        except StockServerError as error:
            if error.status != 404:
                raise
            raise StockServerError(
                f"there is no vLLM server at {self.client.url}: it knows no /v1/models"
            ) from error
        listed = [one for one in data if isinstance(one, dict)]
        served = {one["id"]: one for one in listed if type(one.get("id")) is str}
        name = self.name or (next(iter(served)) if len(served) == 1 else "")
        if name not in served:
            names = sorted(one_line(one)[:_LONGEST_NAME] for one in served)[:8]
            wanted = f"no model '{one_line(name)}' but " if name else ""
            raise StockServerError(
                f"{server} serves {wanted}{', '.join(names) or 'no model'}; choose one "
                f"with --{self.client.role}-model"
            )
        length = self._length(served[name])
        if type(length) is not int or length < 2:
            raise StockServerError(
                f"{server} does not say how many tokens its model reads; only vLLM's "
                "servers and llama-server can be used"
            )
        return name, length

    def _length(self, card: dict[str, Any]) -> Any:
        """How many tokens the model of an entry of `/v1/models` reads, if it says."""
        return card.get("max_model_len")

    def _most_candidates(self) -> int:
        """The most tokens of a row that the server gives, by asking for them."""
        prompt, limit = [(0,)], min(MOST_CANDIDATES, self.vocabulary_size)

        def gives(count: int) -> bool:
            try:
                tries = (self._call(prompt, count) for _ in range(_TRIES))
                return any(self._row(one, count) is not None for (one,) in tries)
            except StockServerError as error:
                if count == 1 or error.status not in (400, 422):
                    raise
                return False

        if gives(limit):
            return limit
        most = bisect_left(range(1, limit), True, key=lambda count: not gives(count))
        if not most:
            raise self._malformed()
        return most

    def _check_size(self) -> None:
        """Raise what speaks against asking for single tokens: the last of the
        vocabulary is asked for, which is not among the likeliest."""
        last = self.vocabulary_size - 1
        try:
            (found,) = self._values([(0,)], [last], by_id=False)
        except StockServerError as error:
            if error.status not in (400, 422):
                raise
            raise StockServerError(
                f"the {self.client.role}'s server has fewer tokens than the vocabulary "
                f"that was given, {self.vocabulary_size}, or an older vLLM: {error}"
            ) from error
        if found[last] > -1e-3:
            raise StockServerError(
                f"the {self.client.role}'s server gives log-probabilities after its "
                "own changes; start vLLM with --logprobs-mode raw_logprobs, its default"
            )

    def _probe(self) -> dict[int, float]:
        """Log-probabilities behind a fixed prompt, of the likeliest tokens if those
        may be asked for: a model is known by them."""
        prompt = tuple(one % self.vocabulary_size for one in (7, 11, 13, 17, 19))
        if self.is_base:
            step = max(1, self.vocabulary_size // _PROBE_TOKENS)
            ids = list(range(0, self.vocabulary_size, step))[:_PROBE_TOKENS]
            (found,) = self._values([prompt], ids, by_id=True)
            return {token_id: found[token_id] for token_id in ids}
        known, floor = self._rows([prompt], min(_PROBE_TOKENS, self.candidates))[0]
        # The sampled token is always there, however unlikely it is.
        return {token_id: value for token_id, value in known.items() if value >= floor}

    def _row(self, found: dict[int, float], count: int) -> Row | None:
        """A row with `count` tokens at least; None for one that was damaged."""
        known = sorted(found.values(), reverse=True)
        whole = min(count, self.vocabulary_size)
        if len(known) < whole:
            return None
        total = math.fsum(map(math.exp, known))
        if known[0] < -math.log(_MOST_PADDING * self.vocabulary_size) or (
            total > 1.0 + _MOST_OVER
        ):
            raise self._malformed()
        floor = known[count - 1] if count < self.vocabulary_size else -math.inf
        # Ids beyond the vocabulary are padding of the embedding.
        size = self.vocabulary_size
        return Row({one: found[one] for one in sorted(found) if one < size}, floor)

    def _malformed(self) -> StockServerError:
        return StockServerError(
            f"the {self.client.role}'s server answers as no {self.kind} does; only "
            "vLLM's servers and llama-server can be used"
        )

    def _changed(self) -> StockServerError:
        return StockServerError(
            f"the {self.client.role}'s server runs another model than when this one "
            "was started; start this one again"
        )


def _logprobs(choice: dict[str, Any]) -> dict[int, float]:
    """The log-probabilities of a choice by token; empty if there are none."""
    logprobs = choice.get("logprobs")
    tops = logprobs.get("top_logprobs") if isinstance(logprobs, dict) else None
    top = tops[0] if isinstance(tops, list) and tops else None
    found: dict[int, float] = {}
    for name, value in top.items() if isinstance(top, dict) else ():
        token = _TOKEN_ID.fullmatch(name)
        # A whole number may have more digits than a float takes.
        if token and type(value) in (int, float) and _NO_LOGPROB < value < math.inf:
            found[int(token[1])] = float(min(value, 0))
    return found


class StockRows:
    """`LogitRows` of log-probabilities at temperature 1, of which a few are known. Of
    those the server is asked for that are missing."""

    def __init__(
        self,
        engine: StockEngine,
        prompts: Sequence[Prompt],
        rows: Sequence[Row],
    ) -> None:
        self._engine = engine
        self._prompts = prompts
        self._rows = rows
        self._more: dict[tuple[int, int], float] = {}
        self.vocabulary_size = engine.vocabulary_size

    def __len__(self) -> int:
        return len(self._rows)

    def log_sum_exps(self, temperature: float) -> Floats:
        """0 at temperature 1. At another, an upper bound: the N unknown tokens hold the
        mass M that the known ones leave, each p <= exp(floor), which bounds the sum of
        p^(1 / temperature). If nothing is known, 0: the rows are then
        log-probabilities but for a constant.
        """
        if temperature in (0.0, 1.0) or self._engine.is_base:
            return np.zeros(len(self._rows))
        return np.array([self._log_sum_exp(row, temperature) for row in self._rows])

    def at(self, rows: Sequence[int] | Ids, token_ids: Sequence[int] | Ids) -> Floats:
        """The log-probabilities (K,) of tokens (K,), each in its row of `rows`; with
        one row, all in that."""
        ids, places = [int(one) for one in token_ids], [int(one) for one in rows]
        places *= len(ids) if len(places) == 1 else 1
        pairs = list(zip(places, ids, strict=True))
        missing = [pair for pair in pairs if self._known(*pair) is None]
        if missing:
            wanted = [(self._prompts[row], token_id) for row, token_id in missing]
            more = self._engine.logprobs_of(wanted)
            self._more |= {
                pair: more[key] for pair, key in zip(missing, wanted, strict=True)
            }
        return np.array([self._known(*pair) for pair in pairs], np.float64)

    def likeliest_ids(
        self,
        row: int,
        count: int,
        tied: float,
        base: object = None,
        weight: float = 0.0,
    ) -> NDArray[np.intp]:
        """The `count` likeliest tokens of a row, rising; of those within `tied` of the
        last and known, the lowest ids. Raises EngineError for those of a base, which
        no server can give."""
        found = self._rows[row]
        if (base is not None and weight) or count > len(found.known):
            raise EngineError("a stock server does not give these candidates")
        best = likeliest_ids(found.logprobs, count, tied)
        return found.ids[best].astype(np.intp)

    def largest_besides(
        self,
        row: int,
        token_ids: Ids,
        base: object = None,
        weight: float = 0.0,
    ) -> float:
        """Upper bound on the log-probability in a row, less `weight` times the base's,
        of the tokens besides `token_ids`: unknown ones have the row's floor at most.
        `UNBOUNDED` if the base is not here as a whole."""
        found, ids = self._rows[row], self._rows[row].ids
        others = ~np.isin(ids, token_ids)
        if base is None or not weight:
            return float(max(found.logprobs[others].max(initial=-np.inf), found.floor))
        if not isinstance(base, ArrayRows):
            return UNBOUNDED
        of_base = base.logits[row].astype(np.float64)
        exact = found.logprobs[others] - weight * of_base[ids[others]]
        unknown = np.ones(len(of_base), bool)
        unknown[ids] = unknown[token_ids] = False
        bound = found.floor - weight * of_base[unknown].min(initial=np.inf)
        return float(max(exact.max(initial=-np.inf), bound))

    def _known(self, row: int, token_id: int) -> float | None:
        found = self._rows[row].known.get(token_id)
        return self._more.get((row, token_id)) if found is None else found

    def _log_sum_exp(self, row: Row, temperature: float) -> float:
        exponent, logprobs = 1.0 / temperature, row.logprobs
        # Less the largest, as a flat row at a low temperature is 0 otherwise.
        highest = exponent * float(logprobs.max(initial=row.floor))
        known = float(np.exp(logprobs * exponent - highest).sum())
        left = max(0.0, 1.0 - float(np.exp(logprobs).sum())) + _ROUNDING
        unknown = self.vocabulary_size - len(row.known)
        if not unknown or row.floor == -math.inf:
            return highest + math.log(known)
        # p^exponent is convex above 1 and concave below: the extremes are few tokens
        # at the floor, or all of them alike.
        if exponent > 1.0:
            most = math.log(left) + (exponent - 1.0) * row.floor
        else:
            alike = min(math.log(left / unknown), row.floor)
            most = math.log(unknown) + exponent * alike
        return highest + math.log(known + math.exp(most - highest))
