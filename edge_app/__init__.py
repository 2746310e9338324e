"""What the person runs: the device side.

What other packages may use is in the table below, a name and its module; each is loaded
when it is asked for. Code of ours names the module, so that contracts see the arrow.
"""

import sys

# `python -m` searches the current folder first, so a file there could stand in for a
# library. Only this package is loaded by now; it stays if it lies there itself.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    _named = any(word.split(".")[0] == __name__ for word in sys.orig_argv)
    if _named and not __file__.startswith(sys.path[0]):
        del sys.path[0]

from importlib import import_module
from typing import Any

_HOME = {
    "AdapterRecord": "adapters.kept",
    "Case": "evaluation.cases",
    "CasesError": "evaluation.cases",
    "ChildServer": "transport.child_server",
    "CloudVerifier": "verifiers.cloud",
    "ComparingDecider": "decoding.deciders",
    "Connection": "transport.client",
    "DeviceCouples": "decoding.deciders",
    "DeviceDecides": "decoding.deciders",
    "DividedTexts": "adapters.texts",
    "Draft": "decoding.deciders",
    "Drafted": "decoding.events",
    "Emit": "decoding.events",
    "Entry": "privacy.ledger",
    "Estimate": "evaluation.bootstrap",
    "Event": "decoding.events",
    "EventEmitter": "decoding.events",
    "FEWEST_UNITS": "evaluation.report",
    "FinishReason": "decoding.events",
    "Finished": "decoding.events",
    "GuardGate": "privacy.guard.gate",
    "History": "evaluation.cases",
    "KeptAdapter": "adapters.kept",
    "LEVEL": "evaluation.bootstrap",
    "LONGEST_CONTEXT": "retrieval.context",
    "Ledger": "privacy.ledger",
    "Measured": "evaluation.pair",
    "Measuring": "evaluation.pair",
    "Opened": "decoding.events",
    "Opinions": "evaluation.likelihood",
    "Pair": "evaluation.pair",
    "Patience": "decoding.session",
    "Profiler": "service.profiles",
    "Progress": "commands.progress",
    "PromptBuilder": "retrieval.context",
    "Prompts": "retrieval.context",
    "RESAMPLES": "evaluation.bootstrap",
    "Readers": "evaluation.likelihood",
    "Received": "decoding.events",
    "RecordedService": "tui.recording",
    "Report": "privacy.guard.checking",
    "Resamples": "evaluation.bootstrap",
    "RetrievalContext": "retrieval.passages",
    "RetrievalQuery": "retrieval.passages",
    "Retrieved": "retrieval.passages",
    "Rows": "evaluation.table",
    "Searchable": "retrieval.passages",
    "Sent": "decoding.events",
    "SentMessage": "privacy.decoded",
    "ServerDecides": "decoding.deciders",
    "ServiceConfig": "service.configuration",
    "Settings": "config.settings",
    "Settled": "decoding.events",
    "SourcesFound": "decoding.events",
    "SpecSteerApp": "tui.app",
    "Statistics": "decoding.events",
    "Summarise": "service.profiles",
    "Tally": "decoding.events",
    "Token": "decoding.events",
    "TrainedWith": "adapters.training",
    "TrainingPlan": "adapters.training",
    "USUAL": "retrieval.personalisation",
    "Verified": "decoding.events",
    "VerifierSession": "decoding.session",
    "WriteRequest": "service.requests",
    "WritingService": "service.service",
    "aligned": "evaluation.table",
    "as_read": "service.text_job",
    "build_examples": "adapters.training",
    "check": "privacy.guard.checking",
    "check_extra": "adapters.training",
    "decode_loop": "decoding.loop",
    "decoded": "privacy.decoded",
    "emit_to": "decoding.events",
    "end_of_turn": "evaluation.pair",
    "find_passages": "retrieval.passages",
    "index_of": "privacy.guard.history",
    "make_ready": "sample.filling",
    "read": "evaluation.likelihood",
    "read_files": "evaluation.eval_files",
    "read_settings": "config.settings",
    "service_config": "commands.service_config",
    "stoppable": "commands.stopping",
    "summariser": "service.profiles",
    "train_adapter": "adapters.training",
    "unseen_cases": "evaluation.synthetic_writers",
    "verifier_of": "verifiers.on_device",
}
"""Which module each name comes from."""


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
