"""The text so far, in the form the person reads and in the form the server knows.

The two are equal until something is kept from the server and replaced by a
placeholder. The specialist reads the first; generalist and base read the second, and
positions on the wire count it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NewType

OwnIds = NewType("OwnIds", list[int])
"""Token ids as the person reads them."""
PublicIds = NewType("PublicIds", list[int])
"""Token ids as the server knows them."""


class Transcript:
    """Settled tokens in both forms."""

    def __init__(self) -> None:
        self.own = OwnIds([])
        self.public = PublicIds([])

    def settle(self, token_ids: Sequence[int]) -> None:
        """Append tokens that both sides may read."""
        self.own.extend(token_ids)
        self.public.extend(token_ids)
