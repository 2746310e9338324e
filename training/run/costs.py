"""What a quantisation costs: nats per token of held-out rows, read by llama.cpp."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from torch import Tensor

from decoding_core.errors import InvalidSettingsError
from decoding_core.sampling import Floats, log_softmax
from models.running.loading import load_model
from models.running.settings import EngineSettings
from training.config import Export, Recipe
from training.data.mixture import Rows
from training.data.tokenizer import PAD
from training.export.export import write_full
from training.export.quantise import quantise

FULL = Export("F32", "F32")
CANDIDATES = (
    Export("Q8_0", "Q8_0"),
    Export("Q6_K", "Q8_0"),
    Export("Q5_1", "Q8_0"),
    Export("Q5_0", "Q8_0"),
    Export("IQ4_NL", "Q8_0"),
    Export("Q4_1", "Q8_0"),
    Export("Q4_0", "Q8_0"),
    Export("Q8_0", "Q5_0"),
    Export("Q8_0", "Q4_0"),
    Export("Q5_0", "Q5_0"),
    Export("IQ4_NL", "Q5_0"),
    Export("IQ4_NL", "IQ4_NL"),
    Export("Q4_0", "Q5_0"),
    Export("Q4_0", "Q4_0"),
    Export("IQ4_NL", "Q5_0", "Q3_K"),
)


def table(
    plan: Recipe, weights: dict[str, Tensor], rows: Rows
) -> Iterator[tuple[Export, float, float]]:
    """Each candidate, with its size in MB and its nats per token; 32 bits first.

    Candidates that the shape does not allow are left out.
    """
    with TemporaryDirectory(dir=plan.work) as folder:
        full, path = Path(folder) / "full.gguf", Path(folder) / "kind.gguf"
        write_full(plan.name, plan.shape, weights, plan.vocabulary, full)
        yield FULL, full.stat().st_size / 1e6, nats_per_token(full, rows)
        for kinds in CANDIDATES:
            try:
                quantise(full, path, kinds)
            except InvalidSettingsError:
                continue
            yield kinds, path.stat().st_size / 1e6, nats_per_token(path, rows)


def nats_per_token(path: Path, rows: Rows, threads: int = 2) -> float:
    """Nats per token of rows (N, T + 1), padding left out, as llama.cpp reads them."""
    model = load_model(path, EngineSettings(threads=threads))
    context = model.open(1, rows.shape[1])
    sequence, nats, count = context.sequence(), 0.0, 0
    for row in rows:
        logits = sequence.evaluate(row[:-1].tolist(), len(row) - 1)
        seen = nats_of(logits, row[1:])
        nats, count = nats + float(seen.sum()), count + len(seen)
        sequence.rollback(0)
    context.close()
    model.close()
    return nats / count


def nats_of(logits: Floats, following: Sequence[int] | Rows) -> Floats:
    """Nats of each token that followed, from logits (T, V); padding left out."""
    ids = np.asarray(following, dtype=np.int64)
    kept = np.flatnonzero(ids != PAD)
    found: Floats = -log_softmax(logits[kept])[np.arange(len(kept)), ids[kept]]
    return found
