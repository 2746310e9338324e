"""One thing to write: what is asked, the true text, and how the models are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from decoding_core.errors import ContextFullError
from edge_app.retrieval.context import Prompts, RetrievalQuery, Retrieved, Searchable
from models.chat import ChatTemplate, prompt_ids
from models.excerpts import Tokenize
from models.prompts import Message

Kind = Literal["text", "choice", "rating", "open"]
"""How an answer is judged: by a true text, as one of some labels, as a number of stars,
or by no truth at all."""

_MARGIN = 16


@dataclass(frozen=True, slots=True)
class Room:
    """What of a model a prompt is made for."""

    tokenize: Tokenize
    detokenize: Callable[[Sequence[int]], str]
    template: ChatTemplate
    context_length: int
    max_tokens: int
    """Kept free for the text."""
    passages: int
    """Past texts to look for."""
    find: Callable[[Searchable, RetrievalQuery], Retrieved]
    """Chooses the past texts of a history, and what is read beside them."""

    @property
    def limit(self) -> int:
        """Tokens that a prompt may have."""
        return self.context_length - self.max_tokens - _MARGIN

    def ids(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Token ids of a prompt that asks for these messages' answer."""
        return tuple(prompt_ids(self.tokenize, self.template, messages))

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self.tokenize(text, False))

    def cut(self, text: str, tokens: int) -> str:
        """The first so many tokens of a text; a broken character is left out."""
        ids = self.tokenize(text, False)
        if len(ids) <= tokens:
            return text
        return self.detokenize(ids[: max(tokens, 0)]).rstrip("\ufffd")

    def fitting(self, public: tuple[int, ...], private: tuple[int, ...]) -> Prompts:
        """Both prompts; raises ContextFullError when one is too long."""
        longest = max(len(public), len(private))
        if longest > self.limit:
            raise ContextFullError(f"{longest} tokens, of which {self.limit} fit")
        return Prompts(public, private, ())


@dataclass(frozen=True, slots=True)
class Query:
    """One text to write."""

    dataset: str
    user: str
    name: str
    """Tells the queries of a user apart."""
    kind: Kind
    asked: str
    """What the public prompt asks for, in words."""
    prompts: Callable[[Room], Prompts]
    """Both prompts; raises ContextFullError when they leave no room for the text."""
    source: str
    """SHA-256 of the files that it was read from."""
    text: str = ""
    """The true text or label, without its beginning."""
    beginning: str = ""
    """How the text begins: given to every model, and no part of what is judged."""
    labels: tuple[str, ...] = ()
    """Among which a choice is made."""
    wish: str = ""
    """What only the private prompt asks for, such as `concise`."""
    searches: bool = False
    """Whether its past texts are chosen by `Room.find`; else as its authors did."""
