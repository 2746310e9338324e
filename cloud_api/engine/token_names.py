"""The tokens of a model that runs elsewhere: read from a file here, and compared with
what its server says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from cloud_api.engine.stock_client import StockClient, StockServerError
from decoding_core.errors import VocabularyMismatchError
from decoding_core.foreign_text import escaped, one_line
from models.files import find
from models.local.describing import token_names
from models.running.interface import Vocabulary, token_list_id

_WORDS, _TEXT = 400, 6_000
"""How many tokens are looked for on the server, in so many characters at most."""
_SAMPLE = (
    "Dear Ana, thank you! Straße 12, café; naïve — 你好, привет 🙂\n\tdef f(x): 3.14"
)
_LONGEST_NAME = 40


class TokenNames:
    """The names of a vocabulary's tokens, in the order of their ids."""

    def __init__(self, names: Sequence[bytes]) -> None:
        self.names = names
        self.size = len(names)

    @cached_property
    def id(self) -> str:
        """As `Vocabulary.id` has it."""
        return token_list_id(self.names)


def names_in(vocabulary: Vocabulary) -> TokenNames:
    """The tokens of a model that is loaded here."""
    return TokenNames(vocabulary.names())


def read_names(path: Path) -> TokenNames:
    """The tokens of a GGUF file, or of a folder with a `tokenizer.json`; raises
    ModelError where there is no such list, or a damaged one."""
    alone = (path / "tokenizer.json").is_file()  # the rest of a model is not needed
    return TokenNames(token_names(path if alone else find(path)))


def check_names(names: TokenNames, client: StockClient, model: str) -> bool:
    """Compare some hundred tokens with those of the server; False where it does not
    say which it has.

    Raises:
        VocabularyMismatchError: one differs.
        DecodingError: as `StockClient.post` does.
    """
    body = {
        "model": model,
        "prompt": _text_of(names),
        "add_special_tokens": False,
        "return_token_strs": True,
    }
    try:
        answer = client.post("/tokenize", body)
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
        known = token_id < names.size
        here = names.names[token_id].decode("utf-8", "replace") if known else ""
        if not known or here != word:
            raise VocabularyMismatchError(
                f"the {client.role}'s server at {client.url} has another vocabulary: "
                f"its token {token_id} is {_shown(word)}, and here "
                f"{_shown(here) if known else 'there is none'}; give the tokens of its "
                "model with --generalist-tokenizer"
            )
    return True


def _text_of(names: TokenNames) -> str:
    """A text in which tokens from all over the vocabulary occur."""
    words = []
    for at in range(0, names.size, max(1, names.size // _WORDS)):
        name = names.names[at].decode("utf-8", "replace")
        # How byte-level vocabularies and SentencePiece write a space.
        word = name.removeprefix("Ġ").removeprefix("▁")
        if word.isascii() and word.isalpha():
            words.append(word)
    return f"{_SAMPLE}\n{' '.join(words)[:_TEXT]}"


def _shown(name: str) -> str:
    return f"'{one_line(escaped(name))[:_LONGEST_NAME]}'"
