"""What can go wrong in the service besides the errors of `decoding_core`."""

from __future__ import annotations

from decoding_core.errors import CloudBusyError, DecodingError


class LoadingError(DecodingError):
    """The models are not loaded yet. Answered 503; the client comes back."""


class StoppingError(DecodingError):
    """The server is about to end. Answered 503; the client goes elsewhere or waits."""


class StaleBlockError(DecodingError):
    """A block that follows what is no part of the text: a refusal, a block that failed,
    another text. The service answers `resync`; the device no longer waits for it."""


class ProtocolVersionError(DecodingError):
    """The client speaks another version of the protocol. Answered 400."""


class UnauthorizedError(DecodingError):
    """The bearer token is missing or wrong. Answered 401."""


class ForbiddenError(DecodingError):
    """The token may not be used for this. Answered 403."""


class NothingHereError(DecodingError):
    """No route has this path. Answered 404."""


class BodyTooLargeError(DecodingError):
    """A body above the limit. Answered 413; the rest of it is not read."""


class ServerError(DecodingError):
    """The server cannot start. The command line says why and exits."""


class QuotaError(CloudBusyError):
    """A user has as much at once as one may have. Answered 429, with the time after
    which the sender is let in."""


class UnknownModelError(DecodingError):
    """A client names a model that is not served. Answered 404."""


class PeopleError(DecodingError):
    """Users, devices and codes: what was asked cannot be done. The command line says
    why and what to do."""


class PairingRefusedError(DecodingError):
    """A code is not, or no longer, good for pairing. Answered 403, with the reason."""
