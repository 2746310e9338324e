"""Run by `probe` in a process of its own, which may crash."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from decoding_core.sampling import Floats
from models.engines.llama_cpp import LlamaContext, LlamaModel
from models.engines.settings import EngineSettings

_TOLERANCE = 1.0  # logits; other kernels round otherwise, a broken one is far off


def main() -> int:
    """0 when a block and a single step agree with and without extra buffers."""
    path = Path(sys.argv[1])
    plain, extra = (_logits(path, extra) for extra in (False, True))
    if not np.isfinite(extra).all() or np.abs(plain - extra).max() > _TOLERANCE:
        sys.stderr.write("extra buffer types change the results\n")
        return 1
    return 0


def _logits(path: Path, extra_buffers: bool) -> Floats:
    model = LlamaModel(path, EngineSettings(extra_buffers=extra_buffers))
    context = LlamaContext(model, context_length=256)
    sequence = context.sequence()
    block = sequence.evaluate(list(range(10, 50)), rows=40)
    step = sequence.evaluate([50])
    context.close()
    model.close()
    return np.concatenate([block, step])
