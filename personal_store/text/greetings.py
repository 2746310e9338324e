"""Whom a letter is to: its greeting, and the name in it."""

import re
import tomllib
from pathlib import Path

WORDS = {
    name: frozenset(words.split())
    for name, words in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text("utf-8")
    ).items()
}
"""Titles, offices, articles, roles and greetings."""
WORD = re.compile(r"[^\W\d_][\w.'’\u0300-\u036f-]*")
_LETTERS = re.compile(r"[^\W\d_]+")
LONGEST = 6  # words of a greeting
_NAME_WORDS = 3  # words of the name in it, at most
NAME = "{name}"  # stands for the name in `greeting_of`
_NAMES = re.compile(r"\{name\}(?: \{name\})+")


def plain_word(word: str) -> str:
    """A word in lower case, without signs around it."""
    return word.casefold().strip(".,'’-")


def greeted(text: str, recipient: str) -> tuple[str, bool]:
    """The name in a letter's greeting, and whether the header has it; empty: none."""
    line = text.strip().partition("\n")[0].strip()
    words = list(WORD.finditer(line))
    alone = len(words) <= LONGEST
    if not alone:  # as in `Ben, the form came`
        line = line[: 1 + line.find(",")]
        words = list(WORD.finditer(line))
    if not 0 < len(words) <= LONGEST:
        return "", False
    known = {one.casefold() for one in _LETTERS.findall(recipient)}
    plain = [plain_word(word.group()) for word in words]
    fits = [
        at
        for at, word in enumerate(plain)
        if len(word) > 1 and word in known and word not in WORDS["greetings"]
    ]
    if any(plain[at] not in WORDS["titles"] for at in fits):
        first, last = fits[0], fits[-1]
        while first and plain[first - 1] in WORDS["titles"]:
            first -= 1
        return line[words[first].start() : words[last].end()].rstrip("."), True
    rest = [at for at, word in enumerate(plain) if word not in WORDS["greetings"]]
    if (
        alone
        and line.endswith((",", "!", ":"))
        and 0 < len(rest) <= _NAME_WORDS
        and rest == list(range(rest[0], len(words)))
        and all(words[at].group()[0].isupper() for at in rest)
    ):
        return line[words[rest[0]].start() : words[rest[-1]].end()], False
    return "", False


def greeting_of(text: str, recipient: str) -> tuple[str, str]:
    """The greeting of a letter with `NAME` for the name, and the text behind it; empty
    and the whole text if it has none."""
    text = text.strip()
    first, newline, rest = text.partition("\n")
    line = first.strip()
    name, fits = greeted(text, recipient)
    words = WORD.findall(line)
    speaks = line.endswith((".", "?")) and not line.endswith(("..", f"{name}?"))
    if len(words) > LONGEST or speaks:  # the text begins in the same line
        line = line[: 1 + line.find(",")] if name else ""
    elif not name and not (
        (newline and not rest.partition("\n")[0].strip())
        or line.endswith((",", "!", ":"))
    ):
        line = ""
    if not (line and newline and words):
        return "", text
    body = text[len(line) :] if len(line) < len(first.strip()) else rest
    if not fits:
        return (line.replace(name, NAME, 1) if name else line), body
    known = {one.casefold() for one in _LETTERS.findall(recipient)}
    known -= WORDS["greetings"]
    line = WORD.sub(lambda w: NAME if plain_word(w[0]) in known else w[0], line)
    return _NAMES.sub(NAME, line), body


def is_to(wanted: str | None, recipient: str, address: str) -> bool:
    """Whether a text was written to this person: an address, a name with one, or words
    of a name."""
    if not wanted:
        return False
    name, angle, known = wanted.strip().casefold().partition("<")
    if address and address in (name, known.rstrip("> ")):
        return True
    words, others = set(name.split()), set(recipient.casefold().split())
    # People say "Ana" where the mail says "Ana Ruiz".
    return words == others if angle else words <= others
