"""The models of a server whose generalist runs behind an address, on a stock server.

The base then runs here, on a second stock server, or on the devices. The tokens of the
generalist are read from a file, or are the base's; either way some hundred of them are
compared with the server's own. They come from no server: a text is cut into tokens for
each block, also while the server is away.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

from cloud_api.engine.llama_server import LlamaServerEngine, check_pieces
from cloud_api.engine.models import BLOCK, ModelOptions, Models, StockAddress
from cloud_api.engine.stock_client import StockClient, StockServerError
from cloud_api.engine.stock_server import BY_ID, StockEngine
from decoding_core.errors import (
    CloudBusyError,
    EngineError,
    InvalidSettingsError,
    VocabularyMismatchError,
)
from decoding_core.settings import MethodSettings
from decoding_core.verifier import VerifierRole
from models.files import find
from models.local.describing import token_names
from models.running.interface import Language, Model, TextSlots, shown_token


def connect_models(options: ModelOptions, generalist: StockAddress) -> Models:
    """The models of `options`, of which the generalist is at an address.

    Raises:
        InvalidSettingsError: its tokens are not known, or an address is invalid.
        VocabularyMismatchError: the tokens are not the server's, or not the base's.
        CloudBusyError: a server does not answer.
        EngineError: it says no, gives too little, or there is no memory for the base.
        ModelError: the base or the tokenizer cannot be loaded.
    """
    local = None
    if options.base is not None and not isinstance(options.base, StockAddress):
        # An engine costs a second to import; the server must listen before that.
        from models.running.loading import load_model

        local = load_model(options.base, options.engine)
    language, names = _language(options, generalist, local)
    large = _connect(generalist, "generalist", names, options.slots, language)
    sys.stderr.write(f"{_described(large)}\n")
    if large.candidates < MethodSettings().candidates:
        sys.stderr.write(
            f"the generalist's server gives {large.candidates} candidates per token, "
            f"and devices ask for {MethodSettings().candidates} by default: start vLLM "
            "with --max-logprobs 128\n"
        )
    length = large.context_length
    length = min(options.context_length or length, length)
    small: StockEngine | TextSlots | None = None
    if isinstance(options.base, StockAddress):
        small = _connect(options.base, "base", names, options.slots, language)
        small.context_length = min(length, small.context_length)
    elif local is not None:
        from models.running.machine import fit_threads

        fewer = min(length, local.context_length)
        small = local.open(options.slots, fewer, owns_model=True)
        fit_threads(small, BLOCK)
    large.context_length = length
    # The devices' model is of the generalist's family: it has its tokens, and is asked
    # for them while it computes.
    return Models(
        large,
        small,
        at_once=small is not None,
        in_pieces=local is not None,
        names=names,
        check=partial(_check, large, small),
        text=None if language is None else lambda: nullcontext(language),
    )


def _language(
    options: ModelOptions, generalist: StockAddress, local: Model | None
) -> tuple[Language | None, Sequence[bytes]]:
    """The generalist's tokens and chat template, if these are known here, and the names
    of the tokens: of the file that was given, of the base, or of the file that a
    llama-server on this machine says it has loaded. Raises as `connect_models`."""
    path = options.tokenizer
    if path is None and local is None:
        path = _file_of_server(generalist)
    if path is None:
        assert local is not None
        return local, local.vocabulary.names()
    in_folder = (path / "tokenizer.json").is_file() or find(path).is_dir()
    if local is None and not in_folder:
        from models.running.loading import load_language

        language = load_language(path)
        return language, language.vocabulary.names()
    if local is None:
        sys.stderr.write(
            "a folder gives the names of the tokens alone: for devices whose model has "
            "others, give a GGUF file with --generalist-tokenizer\n"
        )
    return local, read_names(path)


def _file_of_server(address: StockAddress) -> Path:
    """The GGUF file that a llama-server on this machine has loaded; raises
    InvalidSettingsError if there is none, and what `StockClient.ask` does."""
    client = StockClient(address.url, "generalist", address.key)
    try:
        if client.on_this_machine and _kind(client) is LlamaServerEngine:
            path = client.ask("/props").get("model_path")
            with suppress(OSError):  # a name that no file can have
                if isinstance(path, str) and Path(path).is_file():
                    return Path(path)
    except CloudBusyError as error:
        raise _not_there(client, error) from error
    finally:
        client.close()
    raise InvalidSettingsError(
        "which tokens the generalist has must be known here: give "
        "--generalist-tokenizer, a GGUF file or a folder of its family, or --base, the "
        "GGUF file of the devices' model, if that has the same"
    )


def _kind(client: StockClient) -> type[StockEngine]:
    """What asks the server that answers here; raises StockServerError if it is an
    Ollama, and what `StockClient.ask` does."""
    try:
        data = client.ask("/v1/models").get("data")
    except StockServerError as error:
        if error.status != 404:
            raise
        return StockEngine  # which says what there should be
    data = data if isinstance(data, list) else []
    cards = [one for one in data if isinstance(one, dict)]
    if any(one.get("owned_by") == "llamacpp" for one in cards):
        return LlamaServerEngine
    if not any("max_model_len" in one for one in cards) and _is_ollama(client):
        raise StockServerError(
            f"the {client.role}'s server at {client.url} is an Ollama, which takes no "
            "tokens and names 20 of those that it writes, so no row of a text can be "
            "had: start llama-server with the same model file, and give its address"
        )
    return StockEngine


def _is_ollama(client: StockClient) -> bool:
    try:
        return "version" in client.ask("/api/version")
    except StockServerError:
        return False


def _described(large: StockEngine) -> str:
    """What the generalist's server gives, what that allows and what it costs."""
    if isinstance(large, LlamaServerEngine):
        cost = f"{BLOCK + 1} requests, each of which reads a token"
    else:
        cost = f"one request of {BLOCK + 1} prompts"
    return (
        f"the generalist's server at {large.client.url} is a {large.kind}: it gives "
        f"the {large.candidates} likeliest tokens of a row, and any other by itself. "
        "That allows all methods with candidate_rule = 'generalist', steering and "
        f"rejection up to temperature 1. A block of {BLOCK} tokens costs {cost}, and "
        "one more for each drafted token that is none of the likeliest"
    )


def _connect(
    address: StockAddress,
    role: str,
    names: Sequence[bytes],
    slots: int,
    language: Language | None,
) -> StockEngine:
    """The model at an address, known to have these tokens; raises as `connect_models`
    does, with the address in the sentence."""
    client = StockClient(address.url, role, address.key)
    try:
        model = _kind(client)(client, address.model, names, slots)
        if isinstance(model, LlamaServerEngine) and language is not None:
            check_pieces(language, client, _text_of(names))
        elif not check_names(names, client, model.name):
            sys.stderr.write(
                f"the {role}'s server does not list its tokens, so they could not be "
                "compared with those that were given\n"
            )
    except CloudBusyError as error:
        client.close()
        raise _not_there(client, error) from error
    except BaseException:
        client.close()
        raise
    return model


def _not_there(client: StockClient, error: CloudBusyError) -> EngineError:
    return EngineError(
        f"{error}: start vLLM or llama-server at {client.url}, or correct "
        f"--{client.role}-url"
    )


def _check(
    large: StockEngine, small: StockEngine | TextSlots | None, role: VerifierRole
) -> None:
    """Raise what no stock server can do for a session, or not now.

    Raises:
        InvalidSettingsError: it never can.
        CloudBusyError: a server is away.
        EngineError: a server runs another model than it did.
    """
    remote = [one for one in (large, small) if isinstance(one, StockEngine)]
    check_role(role, base_by_id=len(remote) > 1)
    for one in remote:
        if one.trouble is not None:
            raise one.trouble


def check_role(role: VerifierRole, *, base_by_id: bool) -> None:
    """Raise InvalidSettingsError for a session that log-probabilities of a few tokens
    at temperature 1 do not suffice for (docs/method.md)."""
    terms = role.terms
    if terms.candidate_rule != "generalist":
        raise InvalidSettingsError(
            "this server's generalist runs on a stock server, which ranks tokens by "
            "its own model alone: choose candidate_rule = 'generalist'"
        )
    # Where a drafted token is a candidate, it is kept or not by the ratio L/B.
    tempered = terms.temperature not in (0.0, 1.0)
    if role.adds_draft and tempered and role.uses_base and base_by_id:
        raise InvalidSettingsError(
            "this server's base runs on a stock server, which gives single tokens at "
            f"temperature 1: {role.method.name} works with temperature 0 or 1, with "
            "--base edge, or use lossless"
        )
    if role.adds_draft and terms.temperature > 1.0:
        raise InvalidSettingsError(
            "this server's generalist runs on a stock server: what its unlikely tokens "
            f"hold above temperature 1 is not known, and {role.method.name} compares "
            "with it; choose temperature 1 or less, or use lossless"
        )
    if role.uses_base and base_by_id and terms.candidates > BY_ID:
        raise InvalidSettingsError(
            f"this server's base gives at most {BY_ID} tokens at once; ask for no more "
            "candidates"
        )


_WORDS, _TEXT = 400, 6_000
"""How many tokens are compared with the server's, in how many characters."""
_SAMPLE = (
    "Dear Ana, thank you! Straße 12, café; naïve — 你好, привет 🙂\n\tdef f(x): 3.14"
)


def read_names(path: Path) -> Sequence[bytes]:
    """The tokens of a GGUF file, or of a folder with a `tokenizer.json`; raises
    ModelError if the list is missing or damaged."""
    alone = (path / "tokenizer.json").is_file()  # the rest of a model is not needed
    return token_names(path if alone else find(path))


def check_names(names: Sequence[bytes], client: StockClient, model: str) -> bool:
    """Compare some hundred tokens with those of the server; False if it does not
    say which it has.

    Raises:
        VocabularyMismatchError: one differs.
        DecodingError: as `StockClient.ask` does.
    """
    body = {
        "model": model,
        "prompt": _text_of(names),
        "add_special_tokens": False,
        "return_token_strs": True,
    }
    try:
        answer = client.ask("/tokenize", body)
    except StockServerError as error:
        if error.status in (404, 405, 501):
            return False
        raise
    ids, words = answer.get("tokens"), answer.get("token_strs")
    if not isinstance(ids, list) or not isinstance(words, list) or not ids:
        return False
    for token_id, word in zip(ids, words, strict=False):
        if type(token_id) is not int or not isinstance(word, str):
            return False
        here = names[token_id] if token_id < len(names) else None
        if here is None or here.decode("utf-8", "replace") != word:
            theirs = shown_token(word.encode("utf-8", "replace"))
            known = "there is none" if here is None else shown_token(here)
            raise VocabularyMismatchError(
                f"the {client.role}'s server at {client.url} has another vocabulary: "
                f"its token {token_id} is {theirs}, and here {known}; give the tokens "
                "of its model with --generalist-tokenizer"
            )
    return True


def _text_of(names: Sequence[bytes]) -> str:
    """A text in which tokens from all over the vocabulary occur."""
    words = []
    for at in range(0, len(names), max(1, len(names) // _WORDS)):
        name = names[at].decode("utf-8", "replace")
        # How byte-level vocabularies and SentencePiece write a space.
        word = name.removeprefix("Ġ").removeprefix("▁")
        if word.isascii() and word.isalpha():
            words.append(word)
    return f"{_SAMPLE}\n{' '.join(words)[:_TEXT]}"
