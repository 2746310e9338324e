"""A voice: how somebody writes, counted from their own texts on this device.

Each line says what it is counted from. A line that holds for one person comes from the
texts to that person alone; a general one shows in texts to `PEOPLE` of them at least,
so that nothing said to one person turns up towards another. What the owner changed,
pinned or struck out wins over what is counted.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import quantiles

from sqlite_utils import Database

from edge_app.decoding.shaping import BEGINS
from edge_app.retrieval.naming import first_name
from models.revising import body_of as span_of
from personal_store.connection import immediate
from personal_store.edits import ALWAYS, Pair, TakenOut, taken_out
from personal_store.errors import StoreError
from personal_store.habits import (
    ADDRESSED,
    WORD,
    Habits,
    habits_of,
    person_of,
    read_rows,
)
from personal_store.records import Passage
from personal_store.text.greetings import is_to
from personal_store.text.languages import COMMON, NAMES

LEAST = 3  # texts that show a line before it says anything
PEOPLE = 3  # how many people a general line is shown to
SAME_MANNER = 0.5
"""Share of the best BM25 score for a text with all habits of those to its recipient."""
SURE = 2 / 3  # share of the texts that show a line which may be relied on
_SAMPLE = 300  # newest texts whose phrases are counted
_FEW = 20  # texts in which a stock phrase must be missing
_PHRASE = 3, 8  # words of a phrase that is no whole sentence
_SENTENCE = 20  # words of one that is
_DANGLING = frozenset(
    ("the", "of", "a", "an", "to", "and", "for", "in", "at", "my", "your")
)
_STOPS = re.compile(r"[.!?:;]+\s")
_FIRST_LETTER = re.compile(rf"{BEGINS}[\"'“‘(]*(?!I\b)([^\W\d_])")
_LAST = 10  # finished drafts, the newest, that show what is usual now
_SHARE = 0.1  # of the sample that holds a favourite phrase
_LISTED = 8  # favourite and never-used phrases, each
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_STOCK = [one.strip() for one in _TABLE["stock"].splitlines() if one.strip()]
OPENERS = frozenset(_TABLE["openers"].split())
"""Words that begin sentences and are no names or nouns."""
_SAID: dict[str, Callable[[Habits], str]] = {
    "greeting": lambda one: one.greeting,
    "sign-off": lambda one: one.sign_off,
    "name": lambda one: one.name,
    "opening": lambda one: one.opening,
    "closing": lambda one: one.closing,
    "language": lambda one: NAMES.get(one.language, ""),
    "address": lambda one: one.form,
}
_NUMBERS: dict[str, tuple[str, Callable[[Habits], float | None]]] = {
    "length": ("words", lambda one: one.words),
    "paragraphs": ("paragraphs", lambda one: one.paragraphs),
    "sentences": (
        "words a sentence",
        lambda one: one.words / one.sentences if one.sentences else None,
    ),
}
_SWITCHES: dict[str, Callable[[Habits], bool | None]] = {
    "contractions": lambda one: (
        one.contracted > one.spelt_out if one.contracted + one.spelt_out else None
    ),
    "emoji": lambda one: bool(one.emoji),
    "exclamation-marks": lambda one: bool(one.exclaimed),
    "dashes": lambda one: bool(one.dashes),
    "small-letters": lambda one: (
        2 * one.lower > one.sentences if one.sentences else None
    ),
}
MANY = ("phrase", "never")
"""Lines of which there are several, each known by what it says."""
LINES = (*_SAID, *_NUMBERS, *_SWITCHES, *MANY)
STATES = {"set": "set by you", "pinned": "pinned by you", "struck": "struck out by you"}


@dataclass(frozen=True, slots=True)
class Line:
    """Something that a voice is known by."""

    name: str  # one of `LINES`
    value: str
    shown: int = 0  # in how many texts it shows
    of: int = 0  # in how many it might
    records: tuple[int, ...] = ()  # those that show it, the newest first
    state: str = ""  # `set`, `pinned` or `struck` by the owner
    edits: int = 0  # in how many finished drafts the owner made it so
    into: str = ""  # what they put in its place

    @property
    def holds(self) -> bool:
        """Whether it may be relied on."""
        if self.state:
            return self.state != "struck"
        if self.name in _NUMBERS or self.name in MANY:
            return self.shown >= LEAST or self.edits > 0
        return self.shown >= LEAST and self.shown >= SURE * self.of

    @property
    def why(self) -> list[str]:
        """How sure it is, in words."""
        texts = f"{self.shown:,} of {self.of:,}" if self.of else ""
        edits = f"{self.edits} edited draft{'s' * (self.edits > 1)}" * bool(self.edits)
        sure = STATES.get(self.state, "" if self.holds else "not sure")
        return [one for one in (texts, edits, sure) if one]


@dataclass(frozen=True, slots=True)
class Voice:
    """The lines of one person and kind of text, or of all people."""

    kind: str
    to: str  # as it was asked for; empty: everybody
    persons: tuple[str, ...]  # whom that means in the store
    texts: int  # how many texts it is counted from
    general: bool  # whether these are texts to everybody
    lines: tuple[Line, ...]
    length: tuple[float, float, float] | None = None
    """Quartiles of the words of a text; None: too few texts, or struck out."""
    paragraphs: int = 0
    """Of a text, if `SURE` of the texts have the same number; else 0."""
    others: tuple[str, ...] = ()
    """Who else has the name; `persons` is the one who was written to last."""

    @property
    def whence(self) -> str:
        """What it is counted from, what is to be known of the name, and why there is
        no line."""
        texts = f"{self.texts:,} {self.kind}{'s' * (self.texts != 1)}"
        if self.to and self.general:
            texts += f" to everybody: there are too few to {self.to}"
        elif self.to:
            texts += f" to {', '.join(self.persons)}"
        if self.others:
            texts += f", not to {', '.join(self.others)}: an address says who is meant"
        if not self.lines:
            many = f", or texts to {PEOPLE} people" if self.kind in ADDRESSED else ""
            texts += f"; a line needs {LEAST}{many}: 'specsteer import' reads more"
        return texts

    def value(self, name: str) -> str:
        """What a line says if it may be relied on; else empty."""
        found = (one.value for one in self.lines if one.name == name and one.holds)
        return next(found, "")


def persons_of(db: Database, to: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Whom a name or an address means among those the owner wrote to, and who else has
    the name: of several people the one who was written to last is meant."""
    if not to.strip():
        return (), ()
    rows = db.execute(
        f"""SELECT kind, recipient, recipient_address FROM record
            WHERE kind IN {ADDRESSED} AND id IN (SELECT id FROM habit)
            GROUP BY 1, 2, 3 ORDER BY max(sent_at) DESC, max(id) DESC"""  # noqa: S608
    )
    meant, others, names = set[str](), set[str](), list[set[str]]()
    for row in rows:
        if not is_to(to, row[1], row[2]):
            continue
        person, name = person_of(*row), set(WORD.findall(row[1].casefold()))
        # Ana and Ana Ruiz may be one person, as Ana Ruiz and Ana Lee are not.
        if person in meant or all(name <= one or one <= name for one in names):
            meant.add(person)
            names.append(name)
        else:
            others.add(person)
    return tuple(sorted(meant)) or (_named(to),), tuple(sorted(others - meant))


def _named(to: str) -> str:
    """The address in a recipient, else the name, as the table has them."""
    name, _, address = to.strip().casefold().partition("<")
    return address.rstrip("> ") or name.strip()


def people_of(db: Database, kind: str) -> dict[str, str]:
    """What the owner calls each address or name of `habits.person_of`, so that all of
    one person are one; two people of one first name count as one too."""
    rows = db.execute(
        "SELECT DISTINCT recipient, recipient_address FROM record WHERE kind = ?",
        [kind],
    )
    found = dict[str, str]()
    for name, address in rows:
        person = person_of(kind, name, address)
        found.setdefault(person, first_name(name or address).casefold() or person)
    return found


Rows = Sequence[tuple[int, Habits]]
"""What texts show, each with its record, the oldest first."""


def voice_of(
    db: Database,
    kind: str = "email",
    to: str = "",
    excluded: Collection[int] = (),
    newest: int = -1,
) -> Voice:
    """The voice of the owner's texts of a kind to a person, or to all if those are
    fewer than `LEAST`; of the `newest` alone, if that is a number above 0."""
    persons, others = persons_of(db, to) if kind in ADDRESSED else ((), ())

    def rows_of(whom: Sequence[str] | None) -> Rows:
        found = read_rows(db, kind, whom, newest)
        return [one for one in found if one[0] not in excluded]

    rows = rows_of(persons) if persons else []
    if general := len(rows) < LEAST:
        rows = rows_of(None)
    many = general and kind in ADDRESSED
    if many:  # who has several addresses is one person
        whom = people_of(db, kind)
        rows = [
            (n, replace(one, person=whom.get(one.person, one.person)))
            for n, one in rows
        ]
    texts = [(n, one, body_of(db, n)) for n, one in reversed(rows[-_SAMPLE:])]
    small = {number: _begins_small(body) for number, _, body in texts}
    lines = _counted(rows, small, general=many)
    lines += _phrases(texts, general=many)
    pairs = pairs_of(db, kind, excluded)
    lines += _learnt(pairs, kind, persons, general=general)
    lines = _marked(lines, marks_of(db, kind, persons))
    length = None
    if any(one.name == "length" for one in lines):
        length = quartiles([one.words for _, one in rows])
    parts = Counter(one.paragraphs for _, one in rows).most_common(1)
    same = length is not None and parts[0][1] >= SURE * len(rows)
    stated = next((one for one in lines if one.name == "length" and one.state), None)
    return Voice(
        *(kind, to, persons, len(rows), general, tuple(lines)),
        length=_stated(stated, length) if stated else length,
        paragraphs=parts[0][0] if same else 0,
        others=others,
    )


def body_of(db: Database, number: int) -> str:
    """The text of a record; empty if another program has forgotten it meanwhile."""
    sql = "SELECT body FROM record WHERE id = ?"
    return "".join(body for (body,) in db.execute(sql, [number]))


def in_manner(found: Sequence[Passage]) -> list[Passage]:
    """Texts that were found for a letter, ordered also by how far each shows what most
    of those to its recipient show; as they are if these are fewer than `LEAST`."""
    shown = [habits_of(one.text, one.kind, one.recipient) for one in found]
    own = [
        habits
        for habits, one in zip(shown, found, strict=True)
        if one.score_parts.get("same_recipient")
    ]
    length = quartiles([one.words for one in own])
    if length is None:
        return list(found)
    usual = []
    for says in (*_SAID.values(), *_SWITCHES.values()):
        value, times = Counter(map(says, own)).most_common(1)[0]
        usual += (
            [(says, value)] if value not in ("", None) and 2 * times > len(own) else []
        )
    best = max(one.score_parts.get("bm25", 0.0) for one in found)
    ordered = []
    for one, habits in zip(found, shown, strict=True):
        fits = [says(habits) == value for says, value in usual]
        fits.append(0.8 * length[0] <= habits.words <= 1.2 * length[2])
        part = SAME_MANNER * best * sum(fits) / len(fits)
        parts = {**one.score_parts, "same_manner": part}
        ordered.append(replace(one, score=one.score + part, score_parts=parts))
    return sorted(ordered, key=lambda one: -one.score)


def quartiles(numbers: Sequence[float]) -> tuple[float, float, float] | None:
    """Lower quartile, median and upper quartile; None of fewer than `LEAST`."""
    if len(numbers) < LEAST:
        return None
    low, middle, high = quantiles(numbers, n=4, method="inclusive")
    return low, middle, high


def _stated(
    line: Line, counted: tuple[float, float, float] | None
) -> tuple[float, float, float] | None:
    """The quartiles that the owner's word on the length means."""
    number = line.value.split()[0] if line.value else ""
    if line.state == "struck" or not number.isdecimal() or not int(number):
        return None
    middle = float(number)
    if counted is None or not counted[1]:
        return 0.75 * middle, middle, 1.25 * middle
    return tuple(middle * one / counted[1] for one in counted)  # type: ignore[return-value]


def _counted(rows: Rows, small: dict[int, bool | None], *, general: bool) -> list[Line]:
    """The lines that the shares of single texts add up to; `small` texts are known."""
    lines = []
    person = {number: one.person for number, one in rows}

    def add(name: str, value: str, shown: Iterable[int], of: int) -> None:
        """A line, unless it is general and shown to too few people."""
        ids = tuple(shown)
        if not general or len({person[number] for number in ids}) >= PEOPLE:
            lines.append(Line(name, value, len(ids), of, ids))

    newest = list(reversed(rows))
    for name, say in _SAID.items():
        held = [(number, say(one)) for number, one in newest]
        often = Counter(said for _, said in held if said).most_common(1)
        may = len(rows) if name not in ("language", "address") else 0
        for value, _ in often:
            said = [number for number, one in held if one == value]
            if len(said) == 1 < len(rows):
                continue  # it says nothing
            add(name, value, said, may or sum(bool(one) for _, one in held))
    for name, (unit, measure) in _NUMBERS.items():
        numbers = [
            (number, found)
            for number, one in newest
            if (found := measure(one)) is not None
        ]
        between = quartiles([found for _, found in numbers])
        if between is not None:
            low, middle, high = between
            value = f"{middle:.0f} {unit} ({low:.0f} to {high:.0f})"
            inside = [number for number, found in numbers if low <= found <= high]
            add(name, value, inside, len(numbers))
    for name, shows in _SWITCHES.items():
        known = [(n, shows(one), one) for n, one in newest if shows(one) is not None]
        if name == "small-letters":  # as "I" says nothing
            known = [(n, small[n], o) for n, o in newest if small.get(n) is not None]
        if len(known) < LEAST:
            continue
        yes = 2 * sum(bool(does) for _, does, _ in known) > len(known)
        value = "yes" if yes else "no"
        if name == "emoji" and yes:
            signs = Counter(one.emoji for _, does, one in known if does)
            sign = signs.most_common(1)[0][0]
            users = {one.person for _, _, one in known if one.emoji == sign}
            value = "yes" if general and len(users) < PEOPLE else f"yes {sign}"
        add(name, value, (n for n, does, _ in known if does == yes), len(known))
    return lines


def _phrases(texts: Sequence[tuple[int, Habits, str]], *, general: bool) -> list[Line]:
    """Favourite phrases, and stock phrases that no text has."""
    if not texts:
        return []
    where = defaultdict[tuple[str, ...], dict[int, str]](dict)
    for number, one, text in texts:
        frame = {one.sign_off, one.name}
        frame |= {text.strip().partition("\n")[0]} if one.greeting else set()
        for line in text.split("\n"):
            if line.strip() in frame:
                continue
            for sentence in _STOPS.split(line):
                words = WORD.findall(sentence.casefold())
                whole = (len(words),) if _PHRASE[1] < len(words) <= _SENTENCE else ()
                for size in (*range(_PHRASE[0], _PHRASE[1] + 1), *whole):
                    for at in range(len(words) - size + 1):
                        where[tuple(words[at : at + size])][number] = one.person
    least = max(LEAST, _SHARE * len(texts))
    often = [
        (phrase, found)
        for phrase, found in where.items()
        if len(found) >= least
        and any(word not in COMMON for word in phrase)
        and phrase[-1] not in _DANGLING
        and (not general or len(set(found.values())) >= PEOPLE)
    ]
    often.sort(key=lambda one: (-len(one[1]) * len(one[0]), one[0]))
    lines, taken = list[Line](), list[str]()
    for phrase, found in often:
        said = " ".join(phrase)
        if len(lines) < _LISTED and not any(
            f" {said} " in f" {one} " or f" {one} " in f" {said} " for one in taken
        ):
            taken.append(said)
            lines.append(Line("phrase", said, len(found), len(texts), tuple(found)))
    if len(texts) >= _FEW:
        every = [" ".join(WORD.findall(text.casefold())) for *_, text in texts]
        missing = [one for one in _STOCK if not any(one in text for text in every)]
        total = len(texts)
        lines += [Line("never", one, total, total) for one in missing[:_LISTED]]
    return lines


def pairs_of(db: Database, kind: str, excluded: Collection[int] = ()) -> list[Pair]:
    """The finished drafts of a kind, the oldest first."""
    rows = db.execute(
        """SELECT id, recipient, recipient_address, drafted, body FROM edit
           JOIN record ON record_id = id WHERE kind = ? AND trashed_at IS NULL
           ORDER BY sent_at, id""",
        [kind],
    )
    whom = people_of(db, kind)
    return [
        Pair(record, person, drafted, text, whom.get(person, ""))
        for record, name, address, drafted, text in rows
        if record not in excluded
        for person in [person_of(kind, name, address)]
    ]


def learnt_from(
    pairs: Sequence[Pair], kind: str, persons: Collection[str]
) -> list[TakenOut]:
    """What is taken out of texts to these people: what their own pairs show, and those
    of `PEOPLE` people or more."""
    many = PEOPLE if kind in ADDRESSED else 1
    own = [pair for pair in pairs if pair.person in persons]
    found = {
        one.out.casefold(): one for one in (*taken_out(pairs, many), *taken_out(own))
    }
    # Other first letters of such words are no phrases: see `_case_learnt`.
    return [
        one
        for out, one in found.items()
        if not (out in OPENERS and out == one.into.casefold())
    ]


def _begins_small(text: str) -> bool | None:
    """Whether most sentences begin with small letters, "I" aside."""
    found = _FIRST_LETTER.findall(text[: span_of(text)[1]])
    small = [letter.islower() for _, letter in found]
    return 2 * sum(small) > len(small) if small else None


def _case_learnt(pairs: Sequence[Pair], people: int = 1) -> list[Line]:
    """How sentences begin, if `LEAST` drafts to this many people had to be changed for
    it, and nearly all of the last texts begin theirs so."""
    known = ((p, _begins_small(p.drafted), _begins_small(p.text)) for p in pairs)
    begun = [one for one in known if None not in one[1:]]
    for small in (True, False):
        made = [one for one, before, after in begun if before != small == after]
        last = [after == small for *_, after in begun[-_LAST:]]
        enough = len(made) >= LEAST and sum(last) >= ALWAYS * len(last)
        if enough and len({one.whom or one.person for one in made}) >= people:
            how = sum(last), len(last), tuple(one.record for one in reversed(made))
            value = "yes" if small else "no"
            return [Line("small-letters", value, *how, edits=len(made))]
    return []


def _learnt(
    pairs: Sequence[Pair], kind: str, persons: Collection[str], *, general: bool
) -> list[Line]:
    """What finished drafts say of phrases that are taken out, and of first letters."""
    own = [pair for pair in pairs if pair.person in persons]
    many = PEOPLE if kind in ADDRESSED else 1
    case = _case_learnt(own) or (_case_learnt(pairs, many) if general else [])
    return case + [
        Line(
            *("never", one.out, len(one.records), one.of, one.records),
            edits=len(one.records),
            into=one.into,
        )
        for one in learnt_from(pairs, kind, persons)
    ]


Marks = dict[tuple[str, str], tuple[str, str]]
"""State and value by the name of a line and, of `MANY`, what it says."""


def marks_of(db: Database, kind: str, persons: Sequence[str]) -> Marks:
    """What the owner said of lines; of a person it stands before what is general."""
    rows = db.execute(
        f"""SELECT line, of, state, value FROM voice_mark WHERE kind = ?
            AND person IN ('', {", ".join("?" * len(persons)) or "''"})
            ORDER BY person""",  # noqa: S608
        [kind, *persons],
    )
    return {(row[0], row[1]): (row[2], row[3]) for row in rows if row[0] in LINES}


def _marked(lines: Iterable[Line], marks: Marks) -> list[Line]:
    """The lines as the owner has changed them."""
    made = {(one.name, one.value if one.name in MANY else ""): one for one in lines}
    for (name, of), (state, value) in marks.items():
        one = made.get((name, of), Line(name, value))
        value = one.value if state == "struck" and name not in MANY else value
        made[name, of] = replace(one, state=state, value=value)
    # What was learnt from edits is what one looks for after one: it stands first.
    return sorted(made.values(), key=lambda one: (not one.edits, LINES.index(one.name)))


def mark(
    db: Database, kind: str, to: str, name: str, state: str, value: str = ""
) -> None:
    """Change, pin or strike out a line towards a person, or towards everybody; state
    empty: as it is counted. Raises StoreError for an unknown line."""
    if name not in LINES:
        raise StoreError(f"There is no line '{name}': lines are {', '.join(LINES)}.")
    if name in MANY and not value:
        raise StoreError(f"Say which {name} is meant.")
    shown = voice_of(db, kind, to)
    if state == "set" and not value:
        raise StoreError(f"Say what {name} is to be.")
    if state == "set" and name == "small-letters" and value not in ("yes", "no"):
        raise StoreError(f"{name} is to be yes or no.")
    if state == "pinned" and name not in MANY:
        now = next((one for one in shown.lines if one.name == name and one.value), None)
        if now is None:
            raise StoreError(f"There is no {name} yet that could be pinned.")
        value, state = now.value, "set" if now.state == "set" else state
    persons = shown.persons or ("",)
    of = value if name in MANY else ""
    with immediate(db):
        for person in persons:
            where = [person, kind, name, of]
            db.execute(
                """DELETE FROM voice_mark
                   WHERE person = ? AND kind = ? AND line = ? AND of = ?""",
                where,
            )
            if state:
                sql = "INSERT INTO voice_mark VALUES (?, ?, ?, ?, ?, ?)"
                db.execute(sql, [*where, state, value])
