"""Which of the addresses in a mailbox belong to its owner."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from personal_store.mail.labels import is_sent, unwanted
from personal_store.mail.mail import Mail, addresses
from personal_store.reading.letters import is_automatic, is_bulk, labels_of, sender_of

SAMPLE = 20_000  # messages that are looked at

_MAJORITY = 0.6
_NEARLY_ALL = 0.9
_TAKES_PART = 0.8


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom an import takes for the owner, and why."""

    addresses: tuple[str, ...] = ()
    """Addresses, or names of a service; empty if that is not clear."""
    why: str = ""
    """The evidence, as the end of a sentence; empty if nobody had to guess."""
    perhaps: tuple[str, ...] = ()
    """More addresses that may be the owner's, which nobody but the owner can say."""

    def sentences(self) -> list[str]:
        """Sentences for the owner; empty if the owner said so."""
        said = []
        if self.why:
            taken = " and ".join(self.addresses)
            said.append(f"taking {taken} for you, because {self.why}")
        if self.perhaps:
            named = ", ".join(self.perhaps)
            said.append(f"may be yours too: {named} (--me ADDRESS adds one)")
        return said


@dataclass(slots=True)
class Correspondents:
    """Who sends and who takes part, counted over the headers of a mailbox."""

    messages: int = 0
    senders: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    """Senders of mail that carries a 'Sent' label."""
    unlabelled: Counter[str] = field(default_factory=Counter)
    """Senders of mail that carries none."""
    written_to: set[tuple[str, str]] = field(default_factory=set)
    """(sender, receiver) of mail that carries a 'Sent' label."""
    received: Counter[str] = field(default_factory=Counter)
    """Senders of mail that was delivered to somebody else."""
    parties: Counter[str] = field(default_factory=Counter)
    """Senders and receivers, once per message."""
    names: dict[str, str] = field(default_factory=dict)  # what senders call themselves

    @classmethod
    def of(cls, mails: Iterable[Mail]) -> "Correspondents":
        """Count the people in these messages; machines, lists, spam and drafts do
        not count."""
        people = cls()
        for mail in mails:
            sender = sender_of(mail)
            labels = labels_of(mail)
            if not sender or is_automatic(mail) or unwanted(labels):
                continue
            labelled = is_sent(labels)
            (people.sent if labelled else people.unlabelled)[sender] += 1
            if is_bulk(mail) and not labelled:
                continue
            delivered = _addresses(mail, "delivered-to")
            receivers = _addresses(mail, "to", "cc", "bcc") | delivered
            if labelled:
                people.written_to |= {(sender, receiver) for receiver in receivers}
            if is_bulk(mail):
                continue
            people.messages += 1
            people.senders[sender] += 1
            people.received[sender] += bool(delivered) and sender not in delivered
            people.parties.update({sender} | receivers)
            name = addresses(mail.headers["from"])[0][0].casefold()
            people.names[sender] = name or people.names.get(sender, "")
        return people

    def owner(self) -> Owner:
        """Whoever owns the mailbox.

        Sent mail says it alone, if there is any: all who sent it are the owner, but
        whose mail mostly carries no such label, or whom the owner has written to.
        """
        if self.sent:
            (first, _), *_ = self.sent.most_common(1)
            mine = [
                address
                for address, count in self.sent.most_common()
                if (count >= self.unlabelled[address] or self._takes_part(address))
                and (address == first or (first, address) not in self.written_to)
            ]
            sure = sum(self.sent[a] for a in mine) >= _MAJORITY * self.sent.total()
            if first not in mine or not sure:
                return Owner()
            they = "they" if len(mine) > 1 else "it"
            return self._named(mine, f"{they} sent the sent mail")
        own = [a for a in self.senders if 2 * self.received[a] < self.senders[a]]
        for address in own:
            if self.senders[address] >= _NEARLY_ALL * self.messages:
                return self._named([address], "it wrote nearly all of the mail")
        constant = list(filter(self._takes_part, own))
        if len(constant) == 1:
            return self._named(constant, "it takes part in nearly every message")
        return Owner()

    def most_common(self, limit: int = 5) -> str:
        """The most frequent senders, as a line to show."""
        counted = (self.senders or self.sent).most_common(limit)
        return ", ".join(f"{address} ({count:,})" for address, count in counted)

    def _takes_part(self, address: str) -> bool:
        return self.parties[address] >= _TAKES_PART * self.messages

    def _named(self, mine: list[str], why: str) -> Owner:
        """The owner, and who else sent mail labelled as sent or has the owner's name.

        A name proves nothing: anybody may write under it.
        """
        called = {self.names.get(address) for address in mine} - {None, ""}
        alike = [a for a, name in self.names.items() if name in called]
        perhaps = dict.fromkeys([*self.sent, *alike])
        return Owner(tuple(mine), why, tuple(a for a in perhaps if a not in mine))


def _addresses(mail: Mail, *names: str) -> set[str]:
    values = [value for name in names for value in mail.headers.get(name, [])]
    return {address for _, address in addresses(values)}
