"""Everything that can go wrong, as a tree.

DecodingError
├── InvalidSettingsError        a parameter out of its range: shown to the user
├── UnknownMethodError          no such decoding method: list those there are
├── VocabularyMismatchError     two token lists: go on in bytes
├── ContextFullError            the text no longer fits: stop, keep what is settled
├── StoppedError                the user stopped: keep what is settled
├── MessageError                bytes that are no message of this protocol
├── EngineError                 a model could not compute: shown to the user
├── ModelError                  a model cannot be used
│   ├── ModelNotFoundError
│   └── ChecksumError
└── CloudError
    ├── CloudUnreachableError   no answer: go on offline, and say so
    ├── SessionLostError        the server forgot: open again and send the text so far
    ├── CloudBusyError          the server asks to wait
    └── CloudRefusedError       the server said no: shown to the user
        └── CertificateError    it is not the server that it was: shown to the user
"""

from __future__ import annotations


class DecodingError(Exception):
    """Base of all errors of this project; its message is fit to show to a person."""


class InvalidSettingsError(DecodingError):
    """A parameter lies outside its range. The command line reports it and exits."""


class UnknownMethodError(DecodingError):
    """No decoding method has that name. The command line lists those there are."""


class VocabularyMismatchError(DecodingError):
    """Two models with different token lists. The device goes on in bytes."""


class ContextFullError(DecodingError):
    """The text no longer fits into a model's context. The loop stops and keeps it."""


class StoppedError(DecodingError):
    """The person stopped a computation. The loop keeps what is settled."""


class MessageError(DecodingError):
    """Bytes or numbers that are no valid message. The receiver refuses them."""


class EngineError(DecodingError):
    """A model failed to compute. Reported; what is settled is kept."""


class ModelError(DecodingError):
    """A model cannot be used. Reported with what to do next."""


class ModelNotFoundError(ModelError):
    """A model file is not there."""


class ChecksumError(ModelError):
    """A model file is not the one the catalogue names."""


class CloudError(DecodingError):
    """Base of what can go wrong between the device and the server."""


class CloudUnreachableError(CloudError):
    """No answer from the server. The loop goes on offline and notifies the person."""


class CloudSlowError(CloudUnreachableError):
    """No whole answer in time. The same block is not sent again."""


class SessionLostError(CloudError):
    """The server no longer knows the session. The client opens it again by itself."""


class CloudBusyError(CloudError):
    """The server asks to come back later; `retry_after` is in seconds."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CloudRefusedError(CloudError):
    """The server said no and would say no again. Told to the user, never retried."""


class CertificateError(CloudRefusedError):
    """Another certificate than at pairing. Nothing was sent; never retried."""
