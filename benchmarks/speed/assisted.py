"""Assisted generation of transformers on the same pair of files, in this process.

The large model is given the public prompt and writes; the small one, given the same,
drafts. Nothing is sent and no history is read: it is what a person gets from the
library that most people have, on one machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from personal_store.extras import how_to_add

NEEDED = ("torch", "transformers", "accelerate", "gguf")


def missing() -> str:
    """Why it cannot be run here, as a sentence; empty where it can."""
    absent = [name for name in NEEDED if find_spec(name) is None]
    if not absent:
        return ""
    return (
        f"assisted generation is left out without {', '.join(absent)}: "
        f"{how_to_add('torch')}"
    )


@dataclass(frozen=True, slots=True)
class Assisted:
    """Seconds of texts of one length."""

    alone: float
    """The large model without a draft."""
    assisted: float
    tokens: int


class TransformersPair:
    """Both files as Hugging Face models in float32."""

    def __init__(self, specialist: Path, generalist: Path, threads: int) -> None:
        torch, transformers = map(import_module, ("torch", "transformers"))
        torch.set_num_threads(threads)
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        load: Any = transformers.AutoModelForCausalLM.from_pretrained
        self._torch = torch
        self._small, self._large = (
            load(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
            for path in (specialist, generalist)
        )

    def write(self, prompt_ids: Sequence[int], tokens: int) -> Assisted:
        """Greedy texts of so many tokens, by the large model alone and assisted."""
        prompt = self._torch.tensor([list(prompt_ids)])

        def seconds(tokens: int, **more: Any) -> float:
            began = time.perf_counter()
            with self._torch.no_grad():
                self._large.generate(
                    prompt,
                    attention_mask=self._torch.ones_like(prompt),
                    max_new_tokens=tokens,
                    min_new_tokens=tokens,
                    do_sample=False,
                    pad_token_id=0,
                    **more,
                )
            return time.perf_counter() - began

        helped = {"assistant_model": self._small}
        seconds(8, **helped)  # what is made once belongs to no figure
        return Assisted(seconds(tokens), seconds(tokens, **helped), tokens)
