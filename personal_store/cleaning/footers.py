"""What machines and companies put below a message: notices, taglines, list footers."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

from personal_store.cleaning import phrases
from personal_store.cleaning import tagline_phrases as taglines
from personal_store.cleaning.introductions import LONGEST, bare_line

_LAST = 10
"""Paragraphs from the end that are looked at."""
_PROSE = 60
"""Characters of a paragraph that may be writing; shorter ones are looked past."""
_NOTICE = 150
_LONGEST = 1_500
"""Characters of a paragraph that are looked at."""
_NOTICE_CJK = 40
_OPENING = re.compile(rf"^\W*(?:{phrases.NOTICE})")
_WEAK_OPENING = re.compile(rf"^\W*(?:{phrases.WEAK_NOTICE})")
_ANY_OPENING = re.compile(rf"^\W*(?:{phrases.NOTICE}|{phrases.WEAK_NOTICE})")
_LIST = re.compile(phrases.LIST_FOOTER.replace(".", r"\."))
_GUARD = re.compile(rf"(?<!\w)(?:{phrases.GUARD.replace('.', '[.]')})")
_FIRST_PERSON = re.compile(rf"(?<!\w)(?:{phrases.FIRST_PERSON})(?!\w)")
_LINK = re.compile(r"https?://|www\.|<mailto:|[\w.+-]@[\w-]+\.\w")
_RULE_SIGNS = frozenset("_=*-")
_LINK_SIGNS = ("@", "://", "www.", "<mailto:")
_RULE = re.compile(r"^(?:[_=*-]{10,}|--~--~-.*|(?:-=)+-?)$")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STEMS = tuple(phrases.NOTICE_WORDS.split("|"))
_ASCII_STEMS = tuple(stem for stem in _STEMS if stem.isascii())

_LONGEST_TAGLINE = 100
_LONGEST_REST = 3
"""Words behind the device of a tagline, unless they are known ones."""
_DEVICE_NAMES = rf"(?:{taglines.DEVICE}|{taglines.APPS})"
_DEVICE = re.compile(rf"(?<![^\W_]){_DEVICE_NAMES}\w*")
_SYSTEM = r"(?:ios|android|mac|mobile|windows|iphone|ipad)"
_START = rf"^\W*(?:[^\W\d]{{2,20}}:\s*|.{{0,60}}(?:{taglines.APOLOGY}).{{0,40}}\W)??"
_SENT = rf"(?<!\w)(?:{phrases.SENT})"
_MAY_BE_SENT = re.compile(
    rf"{_SENT}|^\W*(?:get |from my |von meinem |this )|^provenance"
    r"|(?:送信|发送|發送|傳送|寄出|보냄|보낸)\W*$"
)
_SENT_FIRST = re.compile(
    rf"{_START}(?:{_SENT}\W+(?:\w+\W+)?(?:{taglines.FROM_DEVICE})(?!\w)"
    rf"|(?:{taglines.FUSED})\W*(?:\w+\W+){{0,1}}(?=\S*{_DEVICE_NAMES}))"
)
_DEVICE_BEGINS = re.compile(
    rf"^\W{{0,3}}(?:(?:{taglines.FROM_DEVICE})(?!\w)|\w{{0,3}}\W?{_DEVICE_NAMES})"
)
_SENT_ENDS = re.compile(rf"(?:{phrases.SENT})\W{{0,3}}$")
_THIS_SENT = re.compile(rf"^\W*(?:{taglines.THIS_MESSAGE})")
_SENT_FROM = re.compile(rf"^\W*(?:{taglines.SENT_FROM})\W*$")
_GET_APP = re.compile(
    rf"^\W*get (?:{_DEVICE_NAMES}|[\w ]{{2,12}}mail) for {_SYSTEM}\b|"
    rf"^\W*sent (?:from|via|with|using) (?:{taglines.APPS})(?!\w)"
)
_OUTLOOK_FOR = re.compile(
    rf"outlook\W+(?:\S+\s+){{0,2}}?{_SYSTEM}(?:(?![a-z])|(?=https?:))"
    rf"|{_SYSTEM}\S*\W+(?:\S+\s+)?outlook"
)
_AUXILIARY = re.compile(rf"(?<!\S)(?:{taglines.AUXILIARIES})(?!\w)")
_ONLY_LINK = re.compile(r"^\W*(?:https?://|www\.)\S{1,80}\W*$")
_APOLOGY = re.compile(taglines.APOLOGY)
_NETWORK = re.compile(r"using |on the |network|https?:|\bfor |\bwith |[(<]|by at&t")
_SLOGAN = re.compile(r"^\W*yahoo mail\W+search, organi[sz]e, conquer")


def cut_footers(lines: list[str], goodbye: Callable[[list[str]], int]) -> list[str]:
    """The lines before the first notice or list footer at the end of a message.

    No machine writes above the line at which the writer says goodbye; `goodbye` finds
    it, and is only asked where something would be cut.
    """
    cut = len(lines)
    for start, end in _paragraphs_from_below(lines):
        text = " ".join(lines[start:end])[:_LONGEST].lower()
        at = _footer_at(lines, start, end, text)
        if at is not None:
            if at < goodbye(lines):
                break
            cut = at
        elif len(text) >= _PROSE and not _has_link(text):
            break
    return lines[:cut] if cut < len(lines) else lines


def drop_taglines(lines: list[str]) -> list[str]:
    """The lines without those on their own such as 'Sent from my iPhone'."""
    found: set[int] = set()
    last = True  # whether what stands below is blank or another tagline
    for index in reversed(range(len(lines))):
        line = lines[index]
        if not line.strip():
            last = True
        elif last:
            last = _is_tagline(line)
            if last:
                found.add(index)
            elif (
                "." in line
                and _ONLY_LINK.match(line[:LONGEST])
                and _is_tagline(lines[index - 1])
            ):
                last = True
                found.add(index)
    if not found:
        return lines
    alone = {index for index in found if _stands_alone(lines, index, found)}
    if not alone:
        return lines
    return [line for index, line in enumerate(lines) if index not in alone]


def _stands_alone(lines: list[str], index: int, found: set[int]) -> bool:
    """Between blank lines or others of its kind; the last one may follow a name."""
    below = index + 1
    while below in found:
        below += 1
    if below < len(lines) and lines[below].strip():
        return False
    above = index - 1
    while above in found:
        above -= 1
    if above < 0 or not lines[above].strip():
        return True
    return not any(line.strip() for line in lines[below:])


def _is_tagline(line: str) -> bool:
    if not 5 < len(line) < _LONGEST_TAGLINE or line.endswith("?"):
        return False
    line = bare_line(line)
    if line.endswith("!") and not _APOLOGY.search(line):
        return False
    return _names_device(line) or ("yahoo" in line and bool(_SLOGAN.match(line)))


@lru_cache(maxsize=1_024)  # a mail is read until nothing changes: at least twice
def _names_device(line: str) -> bool:
    """Whether a verb without a subject and a device are all that a line holds.

    'The photos were sent from my phone' is a sentence, 'sent from my phone' is none.
    """
    words = len(line.split())
    if "outlook" in line and _OUTLOOK_FOR.search(line):
        return "aka.ms" in line or (words < 8 and not line.endswith("."))
    if words >= 16 or not _MAY_BE_SENT.search(line):
        return False
    if _SENT_FROM.match(line) or _GET_APP.match(line):
        return True
    devices = list(_DEVICE.finditer(line))
    if not devices:
        return False
    if _THIS_SENT.match(line):
        return True
    first = _SENT_FIRST.match(line)
    if first and first.end() <= devices[-1].end():
        rest = line[devices[-1].end() :]
        short = len(rest.split()) <= _LONGEST_REST and words < 13
        known = _APOLOGY.search(line) or _NETWORK.search(line, first.end())
        return bool(known) or (short and not _AUXILIARY.search(rest))
    if words >= 9 or not _DEVICE_BEGINS.match(line) or not _SENT_ENDS.search(line):
        return False
    return not _AUXILIARY.search(line)


def _paragraphs_from_below(lines: list[str]) -> Iterator[tuple[int, int]]:
    """(start, end) of the last paragraphs, the last one first."""
    found = 0
    end = len(lines)
    while end and found < _LAST:
        if not lines[end - 1].strip():
            end -= 1
            continue
        start = end
        while start and lines[start - 1].strip():
            start -= 1
        yield start, end
        found += 1
        end = start


def _footer_at(lines: list[str], start: int, end: int, text: str) -> int | None:
    """Where in this paragraph a footer begins; None if there is none."""
    for index, line in enumerate(lines[start:end], start):
        if (
            line[:1] in _RULE_SIGNS
            and _is_rule(line)
            and _LIST.search(" ".join(lines[index:])[:900].lower())
        ):
            return index
    if not any(map(str.strip, islice(lines, start))):
        return None
    linked = _has_link(text) and not _FIRST_PERSON.search(text)
    guarded = linked and len(text) < 400 and "? " not in text and _GUARD.search(text)
    if _is_notice(text) or guarded or (linked and _LIST.search(text)):
        return start - _has_rule_above(lines, start)
    if len(text) < _PROSE:
        return None
    for index in range(start + 1, end):  # right below a name or an address
        line = lines[index].lower()
        if _ANY_OPENING.match(line) and _is_notice(
            " ".join(lines[index:end])[:_LONGEST].lower()
        ):
            return index
    return None


def _has_link(text: str) -> bool:
    """The pattern alone is slow where there is none."""
    return any(map(text.__contains__, _LINK_SIGNS)) and bool(_LINK.search(text))


def _has_rule_above(lines: list[str], start: int) -> int:
    return int(start > 0 and _is_rule(lines[start - 1]))


def _is_rule(line: str) -> bool:
    return len(line) < LONGEST and _RULE.match(line) is not None


def _is_notice(text: str) -> bool:
    if _OPENING.match(text):
        return True
    stems = _ASCII_STEMS if text.isascii() else _STEMS
    short = 0 if text.isascii() else len(_CJK.findall(text[:_NOTICE]))
    opened = bool(_WEAK_OPENING.match(text))
    if not opened and len(text) < _NOTICE and short < _NOTICE_CJK:
        return False
    return sum([stem in text for stem in stems]) + 2 * opened >= 4
