"""What exactness costs: single steps with and without a second, empty token.

Steps of both kinds are timed in turn, so that the machine's moods hit both alike.
"""

from __future__ import annotations

import time
from statistics import median

from decoding_core.foreign_text import gate_output
from models.engines.llama_cpp import LlamaContext, LlamaModel, LlamaSequence
from models.engines.settings import EngineSettings
from models.files import ROLES, locate

_PAST = 400
_STEPS = 200


def main() -> None:
    """Print the median milliseconds of a step for both embedded models."""
    print("model        plain ms  exact ms  ratio")
    for role in ROLES:
        plain, exact = (_sequence(role, exact) for exact in (False, True))
        pairs = [(_step(plain), _step(exact)) for _ in range(_STEPS)]
        one, two = (1000 * median(times) for times in zip(*pairs, strict=True))
        print(f"{role:12}{one:9.2f}{two:10.2f}{two / one:7.2f}")


def _sequence(role: str, exact: bool) -> LlamaSequence:
    model = LlamaModel(locate(role), EngineSettings(exact=exact))
    sequence = LlamaContext(model).sequence()
    sequence.evaluate(range(100, 100 + _PAST))
    return sequence


def _step(sequence: LlamaSequence) -> float:
    started = time.perf_counter()
    sequence.evaluate([5])
    seconds = time.perf_counter() - started
    sequence.rollback(_PAST)
    return seconds


if __name__ == "__main__":
    gate_output()
    main()
