"""Texts behind the guard, over scripted models and a server that loses things."""

from __future__ import annotations

import re

from decoding_core.byte_space import ByteVocabulary
from decoding_core.messages import DraftBlock
from decoding_core.methods import build
from edge_app.decoding.events import HeldBack
from edge_app.decoding.on_device import RememberedRows
from edge_app.privacy.budget import Account, PublicText
from edge_app.privacy.guard.gate import _TYPED, FIRST_NAMES, LAST_NAMES, GuardGate
from edge_app.privacy.guard.history import index_of
from edge_app.privacy.guard.words import words_of
from edge_app.privacy.reading import of_bytes
from models.running.interface import Vocabulary
from tests.edge_app.decoding.losing_server import LosingServer
from tests.fakes import HashEngine
from tests.writing import Run

HISTORY = (
    "Hi Ben,\n\nZoltan Petrović has the keys; his number is 0176 5512 334 and he lives "
    "at 12 Harbour Lane. We are selling the old mill before winter.\n\nTess",
)
DRAFT = (
    "Dear Ben, the keys are with Zoltan Petrović's son. Call 0176 5512 334 or go to "
    "12 Harbour Lane, and say that we are selling the old mill before winter. All the "
    "best to you and yours, and to Zoltan of course."
)
SECRETS = ("Zoltan", "Petrović", "01765512334", "12harbourlane", "theoldmillbefore")
REQUEST = "Tell Ben who has the keys."
PROMPT = (1, 2)


def joined(text):
    """A text as secrets are looked for: no case, accents, gaps."""
    return "".join(word.folded for word in words_of(text))


class PieceVocabulary(Vocabulary):
    """Words with the space before them, some cut in two; single characters besides."""

    def __init__(self, *texts):
        words = {
            piece
            for text in (*texts, *_TYPED.values(), *FIRST_NAMES, *LAST_NAMES)
            for word in re.findall(r"\s?\w+|[^\w\s]|\s", text)
            for piece in (word[: len(word) // 2 + 1], word[len(word) // 2 + 1 :])
        }
        characters = {char for word in words for char in word} | {" ", "."}
        self.pieces = sorted((words | characters) - {""}, key=lambda p: (-len(p), p))
        self.size = len(self.pieces) + 1

    @property
    def end_ids(self):
        return frozenset({self.size - 1})

    def token(self, token_id):
        return self.piece(token_id)

    def piece(self, token_id):
        return b"" if token_id == self.size - 1 else self.pieces[token_id].encode()

    def tokenize(self, text, control=False):
        ids = []
        while text:
            found = next(
                (i for i, p in enumerate(self.pieces) if text.startswith(p)), None
            )
            if found is None:
                text = text[1:]
                continue
            ids.append(found)
            text = text[len(self.pieces[found]) :]
        return ids


class Writer(HashEngine):
    """Likes the next token of a script best, by its place in the text."""

    def __init__(self, script, prompt_length, vocabulary, liking=6.0):
        super().__init__("writer", vocabulary, spread=1.0)
        self.script, self.prompt_length, self.liking = script, prompt_length, liking

    def logits(self):
        logits = super().logits().copy()
        at = len(self.read) - self.prompt_length
        if 0 <= at < len(self.script):
            logits[self.script[at]] += self.liking
        return logits


def sent_ids(message):
    """Token ids of the text in a message that left."""
    if isinstance(message, DraftBlock):
        return (*message.settled, *message.drafted)
    return message.text_ids


class GuardedRun(Run):
    """A text of the real loop, guard and client over a losing server."""

    def __init__(
        self,
        settings,
        disturbances=None,
        *,
        draft=DRAFT,
        history=HISTORY,
        request=REQUEST,
        secrets=SECRETS,
        guarded=True,
        mode="placeholder",
        ask=None,
        seed="",
        agreeable=False,  # whether the server's models find every token as likely
        private=(9, 9, 1, 2),
        given=0,  # how many tokens of the draft stand there before it is written
        limits=None,  # of an account; None: none is kept
        in_bytes=False,  # whether the server's models have other tokens
    ):
        self.secrets, self.private = secrets, private
        self.vocabulary = vocabulary = PieceVocabulary(*history, draft)
        size = vocabulary.size
        script = [*vocabulary.tokenize(draft), size - 1]
        most = len(script) + 10
        self._own = words = None
        if in_bytes:
            self._own = ByteVocabulary(
                [vocabulary.piece(token) for token in range(size)], [size - 1]
            )
            letters = "".join([*vocabulary.pieces, *history, draft])
            words = ByteVocabulary([b"", *sorted({*map(str.encode, letters)})], [0])
        self.server = LosingServer(disturbances or {}, words=words)

        def model(name, size=size):
            return HashEngine(name + seed, size, spread=0.0 if agreeable else 1.0)

        of_server = size if words is None else len(words.pieces)
        self.server.models = model("large", of_server), model("base", of_server)
        self.gate = self.account = None
        events = []
        if guarded:
            index = index_of(history, request, own=history)
            self.gate = GuardGate(index, vocabulary, mode, ask)
        if limits is not None:
            self.account = Account(
                settings.draw(),
                RememberedRows(model("base")),
                events.append,
                limits,
                judges=build(settings).decided_by == "device",
                public=PublicText(self.gate, most),
            )
        liking = 20.0 if agreeable else 6.0
        self.writer = Writer(script, len(private), size, liking)
        self.write(
            *(settings, self.writer, model("base"), most),
            prompts=(private, PROMPT),
            piece=vocabulary.piece,
            end_ids=vocabulary.end_ids,
            account=self.account,
            events=events,
            loop={"gate": self.gate, "given_ids": script[:given]},
            own=self._own,
        )

    @property
    def shown(self):
        return self.emitter.text()

    @property
    def held(self):
        return self.all(HeldBack)

    @property
    def public(self):
        """The text as the server knows it at the end."""
        return self.vocabulary.detokenize(self.loop._text.public)

    def leaked(self):
        """Secrets in anything that was sent, or in what the server holds."""
        words = self.vocabulary.detokenize if self._own is None else of_bytes
        sessions = [session._text for session in self.server.sessions.values()]
        texts = [words(ids) for ids in (*map(sent_ids, self.server.left), *sessions)]
        wire = [joined(text) for text in (*texts, self.public)]
        return [
            secret
            for secret in self.secrets
            if any(joined(secret) in one for one in wire)
        ]
