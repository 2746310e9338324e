"""What finished drafts show: phrases that the owner always takes out of them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

LEAST = 3  # drafts in which a phrase must have been taken out
ALWAYS = 0.8  # share of the drafts with a phrase out of which it was taken
_LONGEST = 8  # words and signs of a phrase
_PIECE = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]+|\n+")


@dataclass(frozen=True, slots=True)
class Pair:
    """A draft and what the owner made of it."""

    record: int
    person: str
    drafted: str
    text: str
    whom: str = ""  # the same for all addresses of a person; empty: `person`


@dataclass(frozen=True, slots=True)
class TakenOut:
    """A phrase that is always taken out, with its evidence."""

    out: str
    into: str  # what is put in its place; empty: nothing, or now this, now that
    lead: int  # how many of its words say nothing yet, as they go on otherwise too
    records: tuple[int, ...]  # the texts out of whose drafts it was taken, newest first
    of: int  # in how many drafts it stood


def taken_out(pairs: Sequence[Pair], people: int = 1) -> list[TakenOut]:
    """What is always taken out, in drafts for this many people at least."""

    def shown(numbers: Sequence[int]) -> int:
        """To how many people the drafts of these numbers were written."""
        return len({pairs[n].whom or pairs[n].person for n in numbers})

    places = defaultdict[str, list[tuple[int, str]]](list)
    for number, pair in enumerate(pairs):
        for change in set(_phrases(pair)):
            places[change[0]].append((number, change[1]))
    found = []
    for out, made in places.items():
        numbers = sorted({number for number, _ in made}, reverse=True)
        if len(numbers) < LEAST or shown(numbers) < people:
            continue
        held = sum(_count(out, pair) > 0 for pair in pairs)
        if len(numbers) < ALWAYS * held:
            continue
        into, times = Counter(into for _, into in made).most_common(1)[0]
        same = [number for number, one in made if one == into]
        if times < ALWAYS * len(numbers) or shown(same) < people:
            into = ""
        records = tuple(pairs[number].record for number in numbers)
        found.append(TakenOut(out, into, _lead(out, pairs), records, held))
    return sorted(found, key=lambda one: (-len(one.records), one.out))


def _phrases(pair: Pair) -> Iterator[tuple[str, str]]:
    """What was taken out of a draft, within a line, and what was put there."""
    before, after = (list(_PIECE.finditer(one)) for one in (pair.drafted, pair.text))
    words = [[piece[0] for piece in one] for one in (before, after)]
    for i1, i2, j1, j2 in changes(*words):
        if i1 < i2 and max(i2 - i1, j2 - j1) <= _LONGEST:
            out = pair.drafted[before[i1].start() : before[i2 - 1].end()]
            into = pair.text[after[j1].start() : after[j2 - 1].end()] if j1 < j2 else ""
            if any(map(str.isalnum, out)) and "\n" not in out + into:
                yield out, into


def changes(one: Sequence[str], other: Sequence[str]) -> Iterator[Sequence[int]]:
    """Where two differ: from and to in the one, from and to in the other."""
    codes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return (code[1:] for code in codes if code[0] != "equal")


def _count(phrase: str, pair: Pair) -> int:
    """How often a phrase stands in a draft as whole words."""
    return len(re.findall(rf"(?<!\w){re.escape(phrase)}(?!\w)", pair.drafted))


def _lead(out: str, pairs: Sequence[Pair]) -> int:
    words, whole = out.split(" "), sum(_count(out, pair) for pair in pairs)
    for number in range(1, len(words)):
        begun = " ".join(words[:number])
        if whole >= ALWAYS * sum(_count(begun, pair) for pair in pairs):
            return number - 1
    return len(words) - 1
