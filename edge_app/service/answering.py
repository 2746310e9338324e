"""What is answered: a received text and its thread, as private notes of a request.

They are read on this device alone, and what stands in them is guarded as what stands in
the person's own texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from edge_app.decoding.events import Source
from personal_store import Passage, Store

LONGEST_LETTER = 2_000
"""Characters of a letter to answer: a prompt must hold past texts, too."""
_EARLIER, _LONGEST_EARLIER = 2, 400
"""So many texts of its thread that came before are read, and characters of each."""


def to_be_answered(letter: Passage, thread: Sequence[Passage] = ()) -> str:
    """The notes on a letter and on what was said before it, the oldest first."""
    at = next((i for i, one in enumerate(thread) if _same(one, letter)), 0)
    parts = [
        f"{'You' if one.own else one.sender or 'They'} wrote before:\n"
        f"{one.text[:_LONGEST_EARLIER]}"
        for one in thread[max(0, at - _EARLIER) : at]
    ]
    subject = f"Subject: {letter.subject}\n\n" if letter.subject else ""
    parts.append(f"To be answered:\n{subject}{letter.text[:LONGEST_LETTER]}")
    return "\n\n".join(parts)


def notes_on(store: Store, record_id: int) -> str:
    """The notes on the received text with this number; empty where it has gone."""
    letter = store.received(record_id)
    if letter is None:
        return ""
    return to_be_answered(letter, store.thread(record_id))


def received(store: Store, query: str, limit: int) -> list[Passage]:
    """Texts by others: those by a person of that name or address, then those that hold
    the words; the newest where nothing was typed."""
    words = query.casefold().split()
    if not words:
        return store.newest_received(limit)
    people = [
        address
        for name, address in store.correspondents()
        if address and all(word in f"{name} {address}".casefold() for word in words)
    ]
    found = store.newest_received(limit, people) if people else []
    known = {one.record_id for one in found}
    others = store.find(query, limit=limit, received_ones=True)
    return [*found, *(one for one in others if one.record_id not in known)][:limit]


def letters(store: Store, passages: Sequence[Passage]) -> list[Source]:
    """Texts of a thread as the screen names them: by who wrote to whom, and when."""
    names = {address: name for name, address in store.correspondents() if name}
    found = []
    for one in passages:
        who = one.sender or "somebody"
        if name := names.get(one.sender):
            who = f"{name} <{one.sender}>"
        title = f"{one.kind} {f'to {one.recipient}' if one.own else f'from {who}'}"
        if one.date:
            title += f", {one.date:%Y-%m-%d}"
        if one.subject:
            title += f": {one.subject}"
        parts = dict(one.score_parts) | {"own": float(one.own)}
        found.append(Source(one.record_id, title, one.score, parts, one.text))
    return found


def _same(one: Passage, other: Passage) -> bool:
    return one.record_id == other.record_id
