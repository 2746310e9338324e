"""Which version of the protocol two programs speak: the newest that both know.

Each says which it knows, from the oldest to the newest, in the header
`SpecSteer-Protocol` of its requests or of its refusals. A device begins with its
newest; a server that does not know that one refuses and names its own, and the device
begins again with the newest that both know. A program of before there were ranges knows
its one version: its refusal, or the version in its request, says which.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from decoding_core.messages import OLDEST_VERSION, VERSION

HEADER = "SpecSteer-Protocol"


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions that a program knows."""

    oldest: int
    newest: int

    def __str__(self) -> str:
        if self.oldest == self.newest:
            return str(self.oldest)
        return f"{self.oldest}-{self.newest}"

    def __contains__(self, version: int) -> bool:
        return self.oldest <= version <= self.newest

    def common(self, other: Versions) -> int | None:
        """The newest version that both know; None: there is none."""
        newest = min(self.newest, other.newest)
        return newest if newest in self and newest in other else None


SPOKEN = Versions(OLDEST_VERSION, VERSION)
"""What this program knows."""


def versions_in(header: str | None) -> Versions | None:
    """The versions that a header names; None where it names none that can be."""
    found = re.fullmatch(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", (header or "").strip())
    if found is None:
        return None
    oldest = int(found[1])
    newest = int(found[2] or oldest)
    return Versions(oldest, newest) if oldest <= newest else None


def versions_of_refusal(header: str | None, detail: str) -> Versions | None:
    """What a server knows that refused a version; one of before there were ranges says
    it in its sentence alone."""
    named = re.search(r"server speaks version ([0-9]{1,3}) of the protocol", detail)
    return versions_in(header) or versions_in(named[1] if named else None)


def which_to_update(device: Versions, server: Versions) -> str:
    """A sentence for both screens, where they know no version in common."""
    older = "the device" if device.newest < server.oldest else "the server"
    return (
        f"the device speaks version {device} of the protocol and the server version "
        f"{server}: update SpecSteer on {older}"
    )
