"""The decoding method and its messages: no I/O, no clock, no global state.

What other packages may use is in the table below, a name and its module; each is loaded
when it is asked for. Code of ours names the module, so that contracts see the arrow.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "AcceptanceRule": "messages",
    "ArrayRows": "sampling",
    "BasePlace": "messages",
    "BatchEngine": "protocols",
    "BlockReader": "verifier",
    "BlocksOut": "verifier",
    "CandidateRule": "messages",
    "Candidates": "messages",
    "ChecksumError": "errors",
    "CloudBusyError": "errors",
    "CloudError": "errors",
    "CloudRefusedError": "errors",
    "CloudUnreachableError": "errors",
    "ContextFullError": "errors",
    "DRAFT_LIMIT": "messages",
    "DecodingError": "errors",
    "DraftBlock": "messages",
    "DraftLength": "settings",
    "DraftLengths": "draft_length",
    "Draw": "sampling",
    "Engine": "protocols",
    "EngineError": "errors",
    "EngineVerifier": "verifier",
    "FIXED_LENGTH": "settings",
    "Floats": "sampling",
    "FrameFormat": "messages",
    "GatedStream": "foreign_text",
    "HEADER": "versions",
    "Ids": "sampling",
    "InvalidSettingsError": "errors",
    "Kind": "messages",
    "LogitRows": "protocols",
    "MessageError": "errors",
    "Method": "protocols",
    "MethodSettings": "settings",
    "ModelError": "errors",
    "ModelNotFoundError": "errors",
    "Noise": "sampling",
    "OLDEST_VERSION": "messages",
    "OpenSession": "messages",
    "Origin": "messages",
    "Problem": "messages",
    "Reading": "protocols",
    "Rows": "protocols",
    "RunningThreshold": "verifier",
    "SETTLED_LIMIT": "messages",
    "SPOKEN": "versions",
    "START": "settings",
    "STEPS_LIMIT": "messages",
    "STRENGTH_LIMIT": "messages",
    "SessionLostError": "errors",
    "SessionOpened": "messages",
    "Signal": "messages",
    "StoppedError": "errors",
    "THRESHOLD_LIMIT": "messages",
    "Terms": "messages",
    "Threshold": "settings",
    "TokenBlock": "messages",
    "UnknownMethodError": "errors",
    "Use": "sampling",
    "VERSION": "messages",
    "Verdict": "messages",
    "Verifier": "protocols",
    "VerifierHere": "verifier",
    "VerifierRole": "verifier",
    "VersionRefusedError": "errors",
    "Versions": "versions",
    "VocabularyMismatchError": "errors",
    "VocabularyRefusedError": "errors",
    "WINDOW": "messages",
    "available": "methods",
    "build": "methods",
    "check_finite": "messages",
    "clipped_share": "methods.steering",
    "common_prefix": "verifier",
    "count_kept": "verifier",
    "digest": "messages",
    "escaped": "foreign_text",
    "escaped_json": "foreign_text",
    "evaluate_rows": "verifier",
    "gate_output": "foreign_text",
    "keep_probability": "residual",
    "legible": "foreign_text",
    "likeliest": "sampling",
    "likeliest_ids": "sampling",
    "log_softmax": "sampling",
    "log_steered": "methods.steering",
    "one_line": "foreign_text",
    "open_from_json": "wire_json",
    "open_to_json": "wire_json",
    "opened_from_json": "wire_json",
    "opened_to_json": "wire_json",
    "read_text": "verifier",
    "replaced": "foreign_text",
    "residual_distribution": "residual",
    "role_of": "verifier",
    "summary": "methods",
    "ungated": "foreign_text",
    "verify": "verifier",
    "versions_in": "versions",
    "versions_of_refusal": "versions",
    "which_to_update": "versions",
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
