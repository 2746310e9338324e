"""What finished drafts show: phrases that the owner always takes out of them."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
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

    places = defaultdict[tuple[str, bool], list[tuple[int, str, str]]](list)
    for number, pair in enumerate(pairs):
        for out, into in dict.fromkeys(_phrases(pair)):
            either = not into or out[0].isupper() == into[0].isupper()
            places[_small(out) if either else out, either].append((number, out, into))
    found = []
    for (phrase, either), made in places.items():
        if len({number for number, *_ in made}) < LEAST - 1:
            continue
        stands = _standing(phrase, either)
        held = [n for n, pair in enumerate(pairs) if stands(pair.drafted)]
        # A change of more words than these takes them out, too; none may be left.
        gone = [n for n in held if not stands(pairs[n].text)]
        if len(gone) < max(LEAST, ALWAYS * len(held)) or shown(gone) < people:
            continue
        into, times = Counter(_small(one) for *_, one in made).most_common(1)[0]
        same = [one for one in made if _small(one[2]) == into]
        _, out, into = same[0]
        if times < ALWAYS * len(made) or shown([n for n, *_ in same]) < people:
            into = ""
        records = tuple(pairs[number].record for number in reversed(gone))
        lead = _lead(phrase, either, pairs)
        found.append(TakenOut(out, into, lead, records, len(held)))
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


def _small(phrase: str) -> str:
    return phrase[:1].lower() + phrase[1:]


def _standing(phrase: str, either: bool) -> Callable[[str], int]:
    """Counts a phrase as whole words; either: with a small first letter or a great."""
    first = f"[{re.escape(phrase[0] + phrase[0].upper())}]"
    first = first if either else re.escape(phrase[0])
    pattern = re.compile(rf"(?<!\w){first}{re.escape(phrase[1:])}(?!\w)")
    return lambda text: len(pattern.findall(text))


def _lead(phrase: str, either: bool, pairs: Sequence[Pair]) -> int:
    def count(begun: str) -> int:
        return sum(map(_standing(begun, either), (pair.drafted for pair in pairs)))

    words, whole = phrase.split(" "), count(phrase)
    for number in range(1, len(words)):
        if whole >= ALWAYS * count(" ".join(words[:number])):
            return number - 1
    return len(words) - 1
