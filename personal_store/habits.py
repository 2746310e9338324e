"""What one letter shows of its writer's habits, and the table of all letters' shares.

A voice (edge_app/retrieval/voice.py) is counted from these rows. Each belongs to one
own text that can be found: it comes, changes and goes with that text.
"""

import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields

from sqlite_utils import Database

from personal_store.cleaning.signatures import sign_off_of
from personal_store.text.greetings import greeting_of
from personal_store.text.languages import language_of
from personal_store.text.tokens import tokens

ADDRESSED = ("email", "message")
"""Kinds whose recipient is a person."""
WORD = re.compile(r"\w+(?:['’-]\w+)*")
SENTENCE = re.compile(r"[^.!?…\n]*[^\W_][^.!?…\n]*[.!?…]*")
_SHORT = 8  # words of a last sentence that may be a habit
_OPENING = re.compile(r"\s*\w+(?:[ '’-]\w+){0,3}[.,:!?–—]+(?=\s)")
_DASH = re.compile(r"(?<=\s)[-–—](?=\s)|(?<=\w)—(?=\w)")
_EMOJI = re.compile(
    r"[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?|(?<!\S)[:;]-?[)D(P](?!\w)"
)
_CONTRACTED = re.compile(
    r"\b(?:\w+n['’]t|(?:i|you|we|they|he|she|it|that|there)['’](?:m|re|ve|ll|d|s))\b"
)
_SPELT_OUT = re.compile(
    r"\b(?:i (?:am|will|have|would)|(?:do|does|did|will|is|are|was|have|can) ?not"
    r"|(?:you|we|they) (?:are|will|have)|(?:it|that|there|he|she) (?:is|will))\b"
)
_FORMS = {
    code: (re.compile(familiar), re.compile(formal))
    for code, familiar, formal in (
        ("de", r"\b[Dd](?:u|ich|ir|ein\w*)\b", r"(?<=[\w,] )(?:Sie|Ihnen|Ihre?\w*)\b"),
        ("fr", r"(?i)\b(?:tu|te|toi|ton|ta|tes|t['’]\w+)\b", r"(?i)\b(?:vous|votre)\b"),
        ("es", r"(?i)\b(?:tú|te|ti|tus?)\b", r"(?i)\b(?:ustede?s?)\b"),
        ("it", r"(?i)\b(?:tu|ti|te|tuo|tua)\b", r"(?<=[\w,] )(?:Lei|Suo|Sua|Le)\b"),
        ("nl", r"(?i)\b(?:je|jij|jou|jouw)\b", r"(?i)\b(?:u|uw)\b"),
        ("pt", r"(?i)\b(?:tu|te|ti|teu|tua)\b", r"(?i)\b(?:o senhor|a senhora)\b"),
        ("ru", r"(?i)\b(?:ты|тебя|тебе|тво\w+)\b", r"(?i)\b(?:вы|вас|вам|ваш\w*)\b"),
    )
}
FORM_NAMES = {
    "de": ("du", "Sie"),
    "fr": ("tu", "vous"),
    "es": ("tú", "usted"),
    "it": ("tu", "Lei"),
    "nl": ("je", "u"),
    "pt": ("tu", "o senhor"),
    "ru": ("ты", "вы"),
}
"""How a familiar and a formal letter address somebody, by language."""


@dataclass(frozen=True, slots=True)
class Habits:
    """What one text shows; its fields are columns of the table."""

    person: str  # address or name of whom it is for; empty: not for a person
    kind: str
    greeting: str = ""  # with `greetings.NAME` for the name
    sign_off: str = ""
    name: str = ""  # below the sign-off
    opening: str = ""  # the first words below the greeting, up to a stop
    closing: str = ""  # the last sentence above the sign-off, if it is short
    words: int = 0
    paragraphs: int = 0
    sentences: int = 0  # without greeting and sign-off
    lower: int = 0  # of them, those that begin with a small letter
    exclaimed: int = 0
    dashes: int = 0
    emoji: str = ""  # the first
    contracted: int = 0
    spelt_out: int = 0
    language: str = ""
    form: str = ""  # `du` or `Sie` and the like


_COLUMNS = tuple(one.name for one in fields(Habits))
SCHEMA = f"""
CREATE TABLE habit(
    id INTEGER PRIMARY KEY REFERENCES record(id) ON DELETE CASCADE,
    {
    ", ".join(
        f"{one.name} {'INTEGER' if one.type is int else 'TEXT'} NOT NULL"
        for one in fields(Habits)
    )
}
) STRICT;
CREATE INDEX habit_person ON habit(kind, person);
"""
_INSERT = f"INSERT INTO habit VALUES (?{', ?' * len(_COLUMNS)})"  # noqa: S608


def person_of(kind: str, recipient: str, address: str) -> str:
    """Who a text is for, as the table names them."""
    return (address or recipient).casefold() if kind in ADDRESSED else ""


def habits_of(text: str, kind: str, recipient: str = "", address: str = "") -> Habits:
    """What a text shows of its writer."""
    text = text.strip()
    greeting = sign_off = name = ""
    body = text
    if kind in ADDRESSED:
        greeting, body = greeting_of(text, recipient)
        sign_off, name = sign_off_of(text)
        for line in filter(None, (name, sign_off)):
            body = body.rpartition(line)[0] or body
    body = body.strip()
    places = list(SENTENCE.finditer(body))
    said = [one[0].strip() for one in places]
    opening = _OPENING.match(body)
    closing = ""
    for number in range(2, min(len(said), 3) + 1):  # a sign may stand behind the last
        tail = body[places[1 - number].start() :].strip()
        closing = tail if len(tail.split()) <= _SHORT else closing
        if len(tail.split()) > 2:
            break
    starts = [one.lstrip("\"'“‘(*-–—• ")[:1] for one in said]
    language = language_of(text) or ""
    small = text.casefold()
    patterns = _FORMS.get(language)
    forms = [bool(one.search(body)) for one in patterns] if patterns else [False] * 2
    emoji = (
        None
        if text.isascii() and ":" not in text and ";" not in text
        else (_EMOJI.search(text))
    )
    return Habits(
        person_of(kind, recipient, address),
        kind,
        greeting,
        sign_off,
        name,
        opening[0].strip() if opening and len(said) > 1 else "",
        closing,
        words=len(WORD.findall(text)),
        paragraphs=len([one for one in re.split(r"\n\s*\n", text) if one.strip()]),
        sentences=len(starts),
        lower=sum(first.islower() for first in starts),
        exclaimed=len(re.findall(r"[^\W_][^.!?…\n\w]*!", body)),
        dashes=len(_DASH.findall(body)),
        emoji=emoji[0] if emoji else "",
        contracted=len(_CONTRACTED.findall(small)),
        spelt_out=len(_SPELT_OUT.findall(small)),
        language=language,
        form=FORM_NAMES[language][forms[1]] if forms[0] != forms[1] else "",
    )


def refresh(db: Database, ids: Iterable[int], condition: str) -> None:
    """Count those of these records for which the SQL holds, and drop the others."""
    rows = []
    every = list(ids)
    db.conn.executemany("DELETE FROM habit WHERE id = ?", [(one,) for one in every])
    for record_id in every:
        row = db.execute(
            f"""SELECT body, kind, recipient, recipient_address FROM record
                WHERE id = ? AND {condition}""",  # noqa: S608
            [record_id],
        ).fetchone()
        if row is not None:
            rows.append((record_id, *astuple(habits_of(*row))))
    db.conn.executemany(_INSERT, rows)


def unexplained(db: Database, condition: str) -> list[str]:
    """Rows that are not what the text of their record shows, and texts without one."""
    named = ", ".join(f"habit.{name}" for name in _COLUMNS)
    rows = db.execute(
        f"""SELECT record.id, body, record.kind, recipient, recipient_address, {named}
            FROM record LEFT JOIN habit USING (id)
            WHERE {condition} OR habit.id IS NOT NULL"""  # noqa: S608
    )
    return [
        f"habit {record_id} does not show what its record says"
        for record_id, *given in rows
        if astuple(habits_of(*given[:4])) != tuple(given[4:])
    ]


def read_rows(
    db: Database, kind: str, persons: Iterable[str] | None = None, newest: int = -1
) -> list[tuple[int, Habits]]:
    """The shares of texts of a kind, or of those for `persons`, the oldest first; of
    the `newest` alone, if that is a number above 0."""
    sql, values = "", [kind]
    if persons is not None:
        values += persons
        sql = f"AND person IN ({', '.join('?' * (len(values) - 1))})"
    rows = db.execute(
        f"""SELECT habit.id, {", ".join(f"habit.{name}" for name in _COLUMNS)}
            FROM habit JOIN record USING (id) WHERE habit.kind = ? {sql}
            ORDER BY sent_at DESC, id DESC LIMIT ?""",  # noqa: S608
        [*values, newest],
    ).fetchall()
    return [(record_id, Habits(*columns)) for record_id, *columns in reversed(rows)]


def drop_marks(db: Database, persons: Iterable[str]) -> None:
    """Delete what the owner said of people of whom no text is left, and pins that
    quote no text any more, within a transaction of the caller."""
    db.conn.executemany(
        """DELETE FROM voice_mark WHERE person = ? AND person <> ''
           AND person NOT IN (SELECT person FROM habit)""",
        [(person,) for person in set(persons)],
    )
    for name, column in (("greeting",) * 2, ("sign-off", "sign_off"), ("name",) * 2):
        db.execute(
            f"""DELETE FROM voice_mark WHERE state = 'pinned' AND line = ?
                AND value NOT IN (SELECT {column} FROM habit)""",  # noqa: S608
            [name],
        )
    for (phrase,) in db.execute(
        "SELECT DISTINCT of FROM voice_mark WHERE state = 'pinned' AND line = 'phrase'"
    ).fetchall():
        said = " ".join(tokens(phrase))
        held = "SELECT 1 FROM doc WHERE instr(' ' || tok || ' ', ?) LIMIT 1"
        if db.execute(held, [f" {said} "]).fetchone() is None:
            db.execute(
                "DELETE FROM voice_mark WHERE of = ? AND state = 'pinned'", [phrase]
            )
