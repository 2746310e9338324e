"""Both models in this process, writing as a device and a server together would."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.strangers import CONTEXT, prompts_of
from decoding_core.messages import OpenSession
from decoding_core.methods import build
from decoding_core.protocols import Verifier
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier
from edge_app.context import Prompts
from edge_app.decode_loop import DecodeLoop, Limits
from edge_app.drafter import Drafter
from edge_app.events import Statistics
from edge_app.narrator import Narrator
from edge_app.offline import OfflineVerifier
from edge_app.statistics import Tally
from models.engines.llama_cpp import LlamaContext, LlamaModel
from models.engines.settings import EngineSettings
from models.training.examples import Example


@dataclass(frozen=True, slots=True)
class Written:
    """A text and its numbers."""

    text: str
    statistics: Statistics


class Pair:
    """Writes the same request with any method."""

    def __init__(self, specialist: Path, generalist: Path, threads: int) -> None:
        settings = EngineSettings(threads=threads)
        self.small = LlamaModel(specialist, settings)
        large = LlamaModel(generalist, settings)
        self._private, self._base, self._large = (
            LlamaContext(model, 1, CONTEXT).sequence()
            for model in (self.small, self.small, large)
        )

    def write(
        self, example: Example, settings: MethodSettings, max_tokens: int
    ) -> Written:
        """What a method writes for a request."""
        prompts = prompts_of(self.small, example, max_tokens)
        tally = Tally()
        narrator = Narrator(tally.add, self.small.vocabulary.piece)
        verifier = self._opened(settings, prompts)
        for _ in self._loop(settings, prompts, verifier, narrator, max_tokens).blocks():
            pass
        verifier.close()
        return Written(narrator.text(), tally.statistics())

    def _opened(self, settings: MethodSettings, prompts: Prompts) -> Verifier:
        verifier: Verifier = EngineVerifier(self._large, self._base)
        if build(settings).decided_by == "nobody":
            verifier = OfflineVerifier()
        vocabulary = self.small.vocabulary_id
        verifier.open(OpenSession(prompts.public_ids, (), vocabulary, settings.terms()))
        return verifier

    def _loop(
        self,
        settings: MethodSettings,
        prompts: Prompts,
        verifier: Verifier,
        narrator: Narrator,
        max_tokens: int,
    ) -> DecodeLoop:
        self._private.rollback(0)
        draw, method = settings.draw(), build(settings)
        ends = self.small.vocabulary.end_ids
        drafter = Drafter(
            self._private,
            prompts.private_ids,
            draw,
            ends,
            shares_noise=method.shares_noise,
        )
        limits = Limits(max_tokens, settings.draft_length, ends)
        threshold = settings.threshold
        return DecodeLoop(
            drafter, verifier, method, draw, limits, narrator, threshold=threshold
        )
