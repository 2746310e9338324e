"""What the writer calls somebody: from a header to the name that a greeting has.

Headers name people as machines and offices do: `Miller, Ben (Harbour)`, `BEN MILLER`,
`Dr. Helga Strand <h.strand@clinic.example>`. Both models read the name that past
letters to that person greet with; without such letters, the first name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from decoding_core.foreign_text import one_line
from personal_store.text.greetings import WORD, WORDS, greeted, plain_word

_ADDRESS = re.compile(r"[^\s<>()\[\],;:\"']+@[^\s<>()\[\],;:\"'@]+")
_ASIDE = re.compile(r"\([^)]*\)?|\[[^\]]*\]?|\s(?:via|[|/@–—-])\s.*")
_SAID = re.compile(r"[a-z]?[aeiouyhlr]|s[kmnptvw]")  # a local part that is a name

_TITLES, _BEHIND, _OFFICES = (WORDS[name] for name in ("titles", "behind", "offices"))
_ARTICLES, _ROLES = WORDS["articles"], WORDS["roles"]
_BY_THEMSELVES = WORDS["greetings_by_themselves"]


def parted(recipient: str) -> tuple[str, str]:
    """Name and lower-case address of a recipient, each empty if absent."""
    shown = one_line(recipient).strip()
    if "=?" in shown:
        from personal_store.text.charset import header_text  # the page does without

        shown = header_text(shown)
    # The name may hold an address, too, and is whatever its bearer likes.
    name, angle, behind = shown.rpartition("<")
    found = _ADDRESS.match(behind) if angle else _ADDRESS.search(shown)
    if found is None:
        return shown, ""
    if not angle:
        name = shown[: found.start()]
    name = name.strip(" \"'(")
    return ("" if "@" in name else name), found.group().strip(".").lower()


def first_name(recipient: str) -> str:
    """The name to greet with if no letter has it; empty: none."""
    name, address = parted(recipient)
    words = _person(name)
    if words:
        return words
    local = re.sub(r"\d", "", address.partition("@")[0].partition("+")[0])
    parts = [part for part in re.split(r"[._-]", local) if part]
    if not parts or parts[0] in _ROLES or local in _ROLES:
        return name
    sure = len(parts) > 1 or _SAID.match(parts[0])
    return parts[0].capitalize() if sure and len(parts[0]) > 2 else name


def readdressed(text: str, recipient: str, name: str) -> str:
    """A letter to `recipient` as it would greet somebody by `name`, or nobody."""
    before, _ = greeted(text, recipient)
    if not before:
        return text
    line, newline, rest = text.lstrip().partition("\n")
    greeting, _, behind = line.partition(before)
    if name:
        return f"{greeting}{name}{behind}{newline}{rest}"
    words = {plain_word(word.group()) for word in WORD.finditer(greeting)}
    if words & _BY_THEMSELVES:
        return f"{greeting.rstrip()}{behind}{newline}{rest}"
    return (behind.lstrip(" ,!:") + newline + rest).lstrip()


def called(recipient: str, letters: Iterable[str] = ()) -> str:
    """What the writer calls a recipient in `letters`, newest first, else the first
    name."""
    names: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for text in letters:
        name, fits = greeted(text, recipient)
        if name:
            (names if fits else others)[name] += 1
    for found, least in ((names, 1), (others, 2)):
        for name, count in found.most_common(1):
            if count >= least:
                return name
    return first_name(recipient)


def _person(name: str) -> str:
    """The first name in a header's name, or all of it if of no single person."""
    name = _ASIDE.sub("", " " + name).strip(" \"'")
    last, comma, first = name.partition(",")
    first = first.partition(",")[0].strip()
    if comma and first and plain_word(first) not in _BEHIND:
        name = f"{first} {last}"
    else:
        name = last
    words = name.split()
    if words and words[0][0].lower() == words[0][0].upper():
        return name  # a script without capitals has names of another order
    titles = [word for word in words if plain_word(word) in _TITLES]
    words = [word for word in words if plain_word(word) not in _TITLES]
    kinds = {plain_word(word) for word in words}
    if not words or kinds & _OFFICES or plain_word(words[0]) in _ARTICLES:
        return name
    if name.isupper():
        words = [_titled(word) for word in words]
    elif words[0].isupper() and len(words[0]) > 2:  # as in MILLER Ben
        given = [word for word in words if not word.isupper()]
        words = [*given, *words] if given else words
    if len(words) == 1 and titles:
        return " ".join([*titles, *words])
    if len(words[0].strip(".")) == 1 and len(words) > 1:  # an initial
        return " ".join([*titles, *words[-1:]]) if titles else " ".join(words)
    return _titled(words[0]) if words[0].islower() else words[0]


def _titled(word: str) -> str:
    return re.sub(r"[^\W\d_]+", lambda part: part.group().capitalize(), word)
