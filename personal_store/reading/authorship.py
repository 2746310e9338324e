"""Which of the addresses in a mailbox belongs to its owner."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from personal_store.mail.labels import is_sent
from personal_store.mail.mail import Mail, addresses
from personal_store.reading.letters import is_automatic, is_bulk, labels_of, sender_of

SAMPLE = 20_000
"""Messages that are looked at."""

_MAJORITY = 0.6
_NEARLY_ALL = 0.9
_TAKES_PART = 0.8


@dataclass(slots=True)
class Correspondents:
    """Who sends and who takes part, counted over the headers of a mailbox."""

    messages: int = 0
    senders: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    """Senders of mail that carries a 'Sent' label."""
    parties: Counter[str] = field(default_factory=Counter)
    """Senders and receivers, once per message."""

    @classmethod
    def of(cls, mails: Iterable[Mail]) -> "Correspondents":
        """Count the people in these messages; machines and lists do not count."""
        people = cls()
        for mail in mails:
            sender = sender_of(mail)
            if sender and not is_automatic(mail):
                people._count(mail, sender)
        return people

    def _count(self, mail: Mail, sender: str) -> None:
        if is_sent(labels_of(mail)):
            self.sent[sender] += 1
        if is_bulk(mail):
            return
        self.messages += 1
        self.senders[sender] += 1
        names = ("to", "cc", "bcc", "delivered-to")
        receivers = addresses([v for name in names for v in mail.headers.get(name, [])])
        self.parties.update({sender, *(address for _, address in receivers)})

    def owner(self) -> tuple[str, str]:
        """(address, why) of whoever owns the mailbox; empty if that is not clear."""
        for address, why in (self._labelled(), self._only(), self._always_there()):
            if address:
                return address, why
        return "", ""

    def most_common(self, limit: int = 5) -> str:
        """The most frequent senders, as a line to show."""
        counted = (self.senders or self.sent).most_common(limit)
        return ", ".join(f"{address} ({count:,})" for address, count in counted)

    def _labelled(self) -> tuple[str, str]:
        return _leader(self.sent, self.sent.total(), _MAJORITY), "it sent the sent mail"

    def _only(self) -> tuple[str, str]:
        return (
            _leader(self.senders, self.messages, _NEARLY_ALL),
            "it wrote nearly all of the mail",
        )

    def _always_there(self) -> tuple[str, str]:
        """The one address that both sends and takes part in nearly every message."""
        constant = [
            address
            for address, count in self.parties.items()
            if count >= _TAKES_PART * self.messages and self.senders[address]
        ]
        address = constant[0] if len(constant) == 1 else ""
        return address, "it takes part in nearly every message"


def _leader(counts: Counter[str], total: int, share: float) -> str:
    """Who has at least this share of a total; empty if nobody."""
    for address, count in counts.most_common(1):
        if count >= share * total:
            return address
    return ""
