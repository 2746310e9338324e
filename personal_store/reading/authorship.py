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

_ALWAYS = "it takes part in nearly every message"


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
            if not sender or is_automatic(mail):
                continue
            if is_sent(labels_of(mail)):
                people.sent[sender] += 1
            if is_bulk(mail):
                continue
            people.messages += 1
            people.senders[sender] += 1
            fields = ("to", "cc", "bcc", "delivered-to")
            told = [value for name in fields for value in mail.headers.get(name, [])]
            receivers = (address for _, address in addresses(told))
            people.parties.update({sender, *receivers})
        return people

    def owner(self) -> tuple[str, str]:
        """(address, why) of whoever owns the mailbox; empty if that is not clear."""
        labelled = _leader(self.sent, self.sent.total(), _MAJORITY)
        only = _leader(self.senders, self.messages, _NEARLY_ALL)
        constant = [  # who both sends and takes part in nearly every message
            address
            for address, count in self.parties.items()
            if count >= _TAKES_PART * self.messages and self.senders[address]
        ]
        for address, why in (
            (labelled, "it sent the sent mail"),
            (only, "it wrote nearly all of the mail"),
            (constant[0] if len(constant) == 1 else "", _ALWAYS),
        ):
            if address:
                return address, why
        return "", ""

    def most_common(self, limit: int = 5) -> str:
        """The most frequent senders, as a line to show."""
        counted = (self.senders or self.sent).most_common(limit)
        return ", ".join(f"{address} ({count:,})" for address, count in counted)


def _leader(counts: Counter[str], total: int, share: float) -> str:
    """Who has at least this share of a total; empty if nobody."""
    for address, count in counts.most_common(1):
        if count >= share * total:
            return address
    return ""
