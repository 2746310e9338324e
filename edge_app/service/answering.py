"""A received text and its thread, as private notes of the request that answers it.

They are read on this device alone, and guarded as the person's own texts are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from decoding_core.foreign_text import one_line
from edge_app.retrieval.naming import called, first_name, parted
from edge_app.service.requests import Letter, WriteRequest
from models.never_drawn import opens_header
from models.prompts import Request
from models.revising import stems, strangers
from personal_store.text.greetings import is_to
from personal_store.text.languages import language_of

if TYPE_CHECKING:
    from edge_app.facts.checking import Checker
    from personal_store import Passage, Store

LONGEST_LETTER = 2_000  # characters of a letter: prompts hold past texts, too
_EARLIER, _LONGEST_EARLIER = 2, 400  # earlier texts of a thread; characters of each


def notes_on(store: Store, record_id: int) -> str:
    """The notes on a received text and its thread, without header lines."""
    letter = store.received(record_id)
    if letter is None:
        return ""
    thread = store.thread(record_id)
    ids = [one.record_id for one in thread]
    at = ids.index(record_id) if record_id in ids else 0
    parts = []
    for one in thread[max(0, at - _EARLIER) : at]:
        name = first_name(addressed(one.sender_name, one.sender)) or "They"
        who = "You" if one.own else name
        parts.append(f"{who} wrote before:\n{_words(one, _LONGEST_EARLIER)}")
    subject = one_line(letter.subject).strip()
    about = f"({subject})\n\n" if subject else ""
    parts.append(f"To be answered:\n{about}{_words(letter, LONGEST_LETTER)}")
    return "\n\n".join(parts)


def checker_of(store: Store, request: WriteRequest, letters: Sequence[int]) -> Checker:
    """What compares drafts with a request, its thread and the letters that were read,
    by their records."""
    from edge_app.facts.checking import Checker  # its lists of words need numpy

    read = (store.passage(record_id) for record_id in letters)
    brief = addressed_brief(store, request.brief, request.reply_to)
    answered, notes = request.background, [request.background, *store.identities()]
    if request.reply_to is not None:
        letter = store.received(request.reply_to)
        answered = "" if letter is None else _words(letter, LONGEST_LETTER)
        notes.append(notes_on(store, request.reply_to))
    notes += [as_greeted(store, brief).recipient, brief.recipient]
    return Checker(
        request.brief.text,
        request.brief.recipient,
        notes,
        [one.text for one in read if one is not None],
        language_of(request.brief.text),
        answered,
    )


def best_first(
    checker: Checker, request: str, drafts: Sequence[tuple[str, float]]
) -> list[int]:
    """The places of drafts, the best first: by how many facts they lack or invent, then
    by the words of the request that they have, by sentences that have none, and by the
    share of them that the specialist drafted, which stands beside each."""
    asked = stems(request)

    def worth(at: int) -> tuple[bool, int, int, int, float]:
        text, share = drafts[at]
        report = checker.check(text)
        wrong = len(report.missing) + len(report.invented)
        said, idle = len(asked & stems(text)), strangers(text, asked)
        return bool(text), -wrong, said, -idle, share

    return sorted(range(len(drafts)), key=worth, reverse=True)


def received(store: Store, query: str, limit: int) -> list[Passage]:
    """Texts by others: those by a person of that name or address, then those that hold
    the words; if nothing was typed, those that wait for an answer before the newest."""
    words = query.casefold().split()
    if not words:
        both = *store.waiting(limit), *store.newest_received(limit)
        return list({one.record_id: one for one in both}.values())[:limit]
    people = [
        address
        for name, address in store.correspondents()
        if address and all(word in f"{name} {address}".casefold() for word in words)
    ]
    found = store.newest_received(limit, people) if people else []
    known = {one.record_id for one in found}
    others = store.find(query, limit=limit, received_ones=True)
    return [*found, *(one for one in others if one.record_id not in known)][:limit]


def recipient_of(store: Store, letter: Passage) -> str:
    """The recipient of an answer, as `Name <address>`: Reply-To, else the sender."""
    if letter.answer_to:
        return addressed(*parted(letter.answer_to))
    name = letter.sender_name or dict(_names(store)).get(letter.sender, "")
    return addressed(name, letter.sender)


def addressed(name: str, address: str) -> str:
    """Name and address as one recipient, without a name that holds an address."""
    name = one_line(name).strip()
    if not address or "@" in name or "<" in name:
        return address or name
    return f"{name} <{address}>" if name and name != address else address


def addressed_brief(store: Store, brief: Request, reply_to: int | None) -> Request:
    """The brief of a mail with its recipient; of an answer, that of `recipient_of`."""
    letter = None if reply_to is None else store.received(reply_to)
    if brief.task != "email" or letter is None:
        return brief
    recipient = recipient_of(store, letter)
    ways = [parted(recipient), (letter.sender_name, letter.sender)]
    if brief.recipient and not any(is_to(brief.recipient, *one) for one in ways):
        return brief
    if parted(brief.recipient)[1] not in ("", parted(recipient)[1]):
        return brief  # the person chose another address
    return replace(brief, recipient=recipient)


def as_greeted(store: Store, brief: Request) -> Request:
    """The brief of a mail with its recipient as the writer greets them."""
    if brief.task != "email" or not brief.recipient:
        return brief
    past = (one.text for one in store.written_to(brief.recipient))
    return replace(brief, recipient=called(brief.recipient, past))


def correspondents(store: Store) -> list[str]:
    """Everybody who can be written to, as `Name <address>`, the latest first."""
    named = dict(_names(store))
    every = store.correspondents()
    return list(
        dict.fromkeys(
            addressed(named.get(address, ""), address) if address else name
            for name, address in every
        )
    )


def letters(store: Store, passages: Sequence[Passage]) -> list[Letter]:
    """Texts of a thread as the screen names them: by who wrote to whom, and when."""
    names = dict(_names(store))
    found = []
    for one in passages:
        name = one.sender_name or names.get(one.sender, "")
        who = addressed(name, one.sender) or "somebody"
        title = f"{one.kind} {f'to {one.recipient}' if one.own else f'from {who}'}"
        if one.date:
            title += f", {one.date:%Y-%m-%d}"
        if one.subject:
            title += f": {one.subject}"
        parts = dict(one.score_parts) | {"own": float(one.own)}
        found.append(
            Letter(
                *(one.record_id, title, one.score, parts, one.text),
                sender="" if one.own else who,
                answer_to=one.answer_to and recipient_of(store, one),
                subject=one.subject,
            )
        )
    return found


def _names(store: Store) -> list[tuple[str, str]]:
    """Address and name of everybody whose name is known, the latest name last."""
    people = reversed(store.correspondents())
    return [(address, name) for name, address in people if name and address]


def _words(letter: Passage, most: int) -> str:
    """The text of a letter without lines that are headers."""
    lines = [line for line in letter.text.splitlines() if not opens_header(line)]
    return "\n".join(lines).strip()[:most]
