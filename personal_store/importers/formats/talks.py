"""Who is "me" in messages that are signed with names instead of addresses.

The names of a service are the store's identities like addresses are, with the service
in front, as in "whatsapp:ana": an Ana in another service need not be the same person.
"""

import unicodedata
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from personal_store.errors import SourceError

_SHOWN = 12


@dataclass(slots=True)
class People:
    """Who wrote the messages of an export."""

    service: str
    writers: Counter[str] = field(default_factory=Counter)
    owners: tuple[str, ...] = ()
    """What the export itself calls the person whose export it is."""

    def mine(
        self, told: Collection[str], identities: Collection[str]
    ) -> tuple[list[str], str]:
        """(names, why) that are the owner's; why is empty where nobody has to guess.

        What was told may be meant for other services, or for mail: whatever nobody has
        as a name here is passed over, as long as somebody is known to be the owner.

        Raises:
            SourceError: nobody is, or it is the export of somebody who is known to be
                another.
        """
        owned = set(map(self.identity, self.owners))
        names = [n for n in told if self._has(n) or self.identity(n) in owned]
        known = self.known(identities)
        if self.owners and known and not names and not owned & {*known}:
            # An export says whose it is; its posts and comments are not signed.
            others = ", ".join(name.partition(":")[2] for name in known)
            raise SourceError(
                f"This is the export of {self.owners[0]}, and you are {others} here: "
                f"if both are you, say --me '{self.owners[0]}'."
            )
        if names or not self.writers:
            return names, ""
        owners = [name for name in self.owners if self._has(name)]
        if owners:
            return owners, "the export says so"
        if known:
            return [], ""
        wrong = next((name for name in told if "@" not in name), "")
        raise SourceError(
            f"Nobody is called '{wrong}' here. The names are: {self.listed()}."
            if wrong
            else "It is not clear which name is yours: say so with --me NAME. The "
            f"names are: {self.listed()}."
        )

    def known(self, identities: Collection[str]) -> list[str]:
        """The identities that are names of this service."""
        return [i for i in identities if i.startswith(f"{self.service}:")]

    def nothing_from(self, identities: Collection[str]) -> str:
        """A sentence for an import without one own message."""
        mine = [name.partition(":")[2] for name in self.known(identities)]
        return (
            f"nothing here was written by {', '.join(mine)}; the names are: "
            f"{self.listed()} (--me NAME adds one)"
        )

    def identity(self, name: str) -> str:
        """What the store calls the bearer of a name."""
        return identity(self.service, name)

    def listed(self) -> str:
        """The names and how much each wrote, the most first."""
        most = self.writers.most_common(_SHOWN)
        more = len(self.writers) - len(most)
        ending = f" and {more:,} more" if more > 0 else ""
        return ", ".join(f"{name} ({count:,})" for name, count in most) + ending

    def _has(self, name: str) -> bool:
        wanted = self.identity(name)
        return any(self.identity(writer) == wanted for writer in self.writers)


def identity(service: str, name: str) -> str:
    """What the store calls whoever has this name at a service; empty without a name."""
    name = plain_name(name).lower()
    return f"{service}:{name}" if name else ""


def is_name(identity: str) -> bool:
    """Whether an identity of the store is a name and no address."""
    return ":" in identity


def plain_name(name: str) -> str:
    """A name without the invisible marks and the '~' that some exports put there."""
    folded = unicodedata.normalize("NFKC", name)
    seen = "".join(c for c in folded if unicodedata.category(c) not in ("Cf", "Cc"))
    return " ".join(seen.split()).removeprefix("~").strip()
