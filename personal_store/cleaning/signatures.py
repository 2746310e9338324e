"""What stands below a message and is not writing: signatures, contacts, footers.

A sign-off, the name below it and a postscript stay: how somebody ends is style. What
machines and companies put there goes: notices, the footers of lists, and taglines such
as "Sent from my iPhone".
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, takewhile

from personal_store.cleaning import phrases
from personal_store.cleaning.phrases import pattern
from personal_store.cleaning.quotes import LONGEST, bare_line, next_line

# Footers: notices of companies, and what lists write.
_LAST = 10  # paragraphs from the end that are looked at
_PROSE = 60
"""Characters of a paragraph that may be writing; shorter ones are looked past."""
_NOTICE = 150
_LONGEST = 1_500  # characters of a paragraph that are looked at
_NOTICE_CJK = 40
_OPENING = pattern(rf"^\W*(?:{phrases.NOTICE})")
_WEAK_OPENING = pattern(rf"^\W*(?:{phrases.WEAK_NOTICE})")
_ANY_OPENING = pattern(rf"^\W*(?:{phrases.NOTICE}|{phrases.WEAK_NOTICE})")
_LIST = pattern(phrases.LIST_FOOTER.replace(".", r"\."))
_GUARD = pattern(rf"(?<!\w)(?:{phrases.GUARD.replace('.', '[.]')})")
_FIRST_PERSON = pattern(rf"(?<!\w)(?:{phrases.FIRST_PERSON})(?!\w)")
_LINK = pattern(r"https?://|www\.|<mailto:|[\w.+-]@[\w-]+\.\w")
_BANNER = pattern(rf"^\W*(?:{phrases.BANNER})")
_BANNER_WORDS = [pattern(stems) for stems in phrases.BANNER_WORDS.split("/")]
_BANNER_LINES = 5
_I = pattern(r"(?<!\w)i(?!\w)")
_FOLLOW_UP = pattern(
    rf"^\W*(?:\w+ ){{1,6}}?[^#]{{0,40}}(?:{phrases.FOLLOW_UP})[^#]{{0,60}}#\d+\W"
    rf".{{0,120}}[\"“”»'’]\W*$"
)
_RULE_SIGNS = frozenset("_=*-")
_LINK_SIGNS = ("@", "://", "www.", "<mailto:")
_LINE_OF_SIGNS = pattern(r"^(?:[_=*-]{10,}|--~--~-.*|(?:-=)+-?)$")
_CJK = pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STEMS = tuple(phrases.NOTICE_WORDS.split("|"))

# Taglines such as "Sent from my iPhone".
_LONGEST_TAGLINE = 100
_LONGEST_REST = 3  # words behind the device of a tagline, unless they are known ones
_DEVICE_NAMES = rf"(?:{phrases.DEVICE}|{phrases.APPS})"
_DEVICE = pattern(rf"(?<![^\W_]){_DEVICE_NAMES}\w*")
_SYSTEM = r"(?:ios|android|mac|mobile|windows|iphone|ipad)"
_START = rf"^\W*(?:[^\W\d]{{2,20}}:\s*|.{{0,60}}(?:{phrases.APOLOGY}).{{0,40}}\W)??"
_SENT = rf"(?<!\w)(?:{phrases.SENT})"
_MAY_BE_SENT = pattern(
    rf"{_SENT}|^\W*(?:get |from my |von meinem |this )|^provenance"
    r"|(?:送信|发送|發送|傳送|寄出|보냄|보낸)\W*$"
)
_SENT_FIRST = pattern(
    rf"{_START}(?:{_SENT}\W+(?:\w+\W+)?(?:{phrases.FROM_DEVICE})(?!\w)"
    rf"|(?:{phrases.FUSED})\W*(?:\w+\W+){{0,1}}(?=\S*{_DEVICE_NAMES}))"
)
_DEVICE_BEGINS = pattern(
    rf"^\W{{0,3}}(?:(?:{phrases.FROM_DEVICE})(?!\w)|\w{{0,3}}\W?{_DEVICE_NAMES})"
)
_SENT_ENDS = pattern(rf"(?:{phrases.SENT})\W{{0,3}}$")
_THIS_SENT = pattern(rf"^\W*(?:{phrases.THIS_MESSAGE})")
_SENT_FROM = pattern(rf"^\W*(?:{phrases.SENT_FROM})\W*$")
_GET_APP = pattern(
    rf"^\W*get (?:{_DEVICE_NAMES}|[\w ]{{2,12}}mail) for {_SYSTEM}\b|"
    rf"^\W*sent (?:from|via|with|using) (?:{phrases.APPS})(?!\w)"
)
_OUTLOOK_FOR = pattern(
    rf"outlook\W+(?:\S+\s+){{0,2}}?{_SYSTEM}(?:(?![a-z])|(?=https?:))"
    rf"|{_SYSTEM}\S*\W+(?:\S+\s+)?outlook"
)
_AUXILIARY = pattern(rf"(?<!\S)(?:{phrases.AUXILIARIES})(?!\w)")
_ONLY_LINK = pattern(r"^\W*(?:https?://|www\.)\S{1,80}\W*$")
_APOLOGY = pattern(phrases.APOLOGY)
_NETWORK = pattern(r"using |on the |network|https?:|\bfor |\bwith |[(<]|by at&t")
_SLOGAN = pattern(r"^\W*yahoo mail\W+search, organi[sz]e, conquer")

# Signatures and contact blocks.
_DELIMITER = pattern(r"^(?:- )?--$|^[—–]$|^__$")
_RULE = pattern(r"^\s*(?:(?:[-_=*~–—•]\s?){3,}|\**(?:\.\s?){5,}\**)\s*$")
_IMAGE = pattern(r"^\W*(?:!\[[^\]]*\]\(|\[(?:cid|image|logo|bild)\b)", re.IGNORECASE)
_SIGN_OFF = pattern(rf"^[\s*_]*(?:(?:{phrases.SIGN_OFF})(?!\w)[^\w\n(]*)+")
_PS = pattern(rf"^\W*(?:{phrases.PS})")
_ADDRESS = pattern(r"(?:https?://|www\.)\S+|[\w.+%-]+@[\w-]+\.\w")
_NUMBER = pattern(r"(?<!\d)(?:\+|\(?0)[\d ()/.-]{6,}\d")
_CONTACT = pattern(
    rf"{_NUMBER.pattern}|{_ADDRESS.pattern}|\|"
    rf"|(?<!\w)(?:{phrases.CONTACT_WORDS})\s*[:：]+\s*[+(\dh@]",
    re.IGNORECASE,
)
_REACHED = pattern(
    rf"{_NUMBER.pattern}|[\w.+%-]@[\w-]+\.\w"
    rf"|(?<!\w)(?:{phrases.CONTACT_WORDS})\s*[:：]+\s*[+(\d]",
    re.IGNORECASE,
)
_LABEL = pattern(rf"^\W*(?:{phrases.CONTACT_WORDS})\W*$", re.IGNORECASE)
_MAY_BE_CONTACT = pattern(r"[\d@|]|www\.|://")
_SPEECH = pattern(
    rf"^\s*(?:\d+[.)]|[-*•–])\s|(?<!\w)(?:{phrases.FIRST_PERSON}|you|your|du|dich|dir"
    r"|dein\w*|sie|ihnen|tu|toi|ton|vous|votre|tú|tuyo|usted|você|jij|jouw|ты|вы)(?!\w)"
)
_SENTENCE = pattern(r"[.?!…。？！](?:\W{0,3})$")
_CARD = pattern(
    r"^\*?[^\W\d][^|@:\d]{2,40}\|\s?\*?[^\W\d][^|@:\d]{2,40}$"
)  # 'Ann | CEO'
_MOTTO = pattern(r"^\s*[\"“„«»‘'][^\"“”„«»]{5,80}[\"“”»«’']\s*$")
_LETTER = pattern(r"[^\W\d_]")
_DIGITS = pattern(r"\d{2}")

_PGP_BEGIN = "-----BEGIN PGP "
_PGP_SIGNED = "-----BEGIN PGP SIGNED MESSAGE-----"
_PGP_HEADER = pattern(r"(?:Hash|Charset|Comment|Version|NotDashEscaped):")
_PGP_BLOCK = pattern(r"^-----BEGIN PGP (SIGNATURE|MESSAGE|PUBLIC KEY BLOCK)-----$")

_SIGNATURE_LINES = 16
_SIGN_OFF_LINES = 24
_FOOTER_LINES = 80
_NAME_WORDS = 5
_MOTTO_LINES = 3
_LONGEST_GOODBYE = 50
_LONGEST_NAME = 40
_SHORT = 90


def drop_banner(lines: list[str]) -> list[str]:
    """The lines without what a server or a help desk put above the message."""
    start = next_line(lines, 0) or 0
    ends = (i for i in range(start, len(lines)) if not lines[i].strip())
    end = next(ends, len(lines))
    if end == len(lines) or end - start > _BANNER_LINES:
        return lines
    text = " ".join(lines[start:end])[:_LONGEST].lower()
    if "#" in text and _FOLLOW_UP.match(text):
        return lines[end:]
    own = not _BANNER.match(text) or _FIRST_PERSON.search(text) or _I.search(text)
    if own or not all(pattern.search(text) for pattern in _BANNER_WORDS):
        return lines
    return lines[end:]


def cut_footers(lines: list[str]) -> list[str]:
    """The lines before the first notice or list footer at the end of a message.

    No machine writes above the line at which the writer says goodbye.
    """
    cut = len(lines)
    for start, end in _paragraphs_from_below(lines):
        text = " ".join(lines[start:end])[:_LONGEST].lower()
        at = _footer_at(lines, start, end, text)
        if at is not None:
            if at < _goodbye(lines):
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
            last = is_tagline(line) or (
                "." in line
                and _ONLY_LINK.match(line[:LONGEST]) is not None
                and is_tagline(lines[index - 1])
            )
            if last:
                found.add(index)
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


def is_tagline(line: str) -> bool:
    """Whether a program wrote this line about itself, as in 'Sent from my iPhone'."""
    if not 5 < len(line) < _LONGEST_TAGLINE or line.endswith("?"):
        return False
    line = bare_line(line)
    if line.endswith("!") and not _APOLOGY.search(line):
        return False
    return _names_device(line) or ("yahoo" in line and bool(_SLOGAN.match(line)))


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
    """Where in this paragraph a footer begins; None if absent."""
    for index, line in enumerate(lines[start:end], start):
        if (
            line[:1] in _RULE_SIGNS
            and (_is_rule(line) or line == "--")
            and _LIST.search(" ".join(lines[index:])[:900].lower())
        ):
            return index
    if not any(map(str.strip, islice(lines, start))):
        return None
    linked = _has_link(text) and not _FIRST_PERSON.search(text)
    guarded = linked and len(text) < 400 and "? " not in text and _GUARD.search(text)
    if _is_notice(text) or guarded or (linked and _LIST.search(text)):
        return start - int(start > 0 and _is_rule(lines[start - 1]))
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
    """The pattern alone is slow in a text without a link."""
    return any(map(text.__contains__, _LINK_SIGNS)) and bool(_LINK.search(text))


def _is_rule(line: str) -> bool:
    return len(line) < LONGEST and _LINE_OF_SIGNS.match(line) is not None


def _is_notice(text: str) -> bool:
    if _OPENING.match(text):
        return True
    short = len(_CJK.findall(text[:_NOTICE]))
    opened = bool(_WEAK_OPENING.match(text))
    if not opened and len(text) < _NOTICE and short < _NOTICE_CJK:
        return False
    return sum([stem in text for stem in _STEMS]) + 2 * opened >= 4


def drop_signature(lines: list[str]) -> list[str]:
    """The lines without what stands below the message."""
    lines = cut_footers(drop_banner(lines))
    lines = _without_blank_end(drop_taglines(lines))
    # Cut at each '-- ' from which only a signature's length remains, from below.
    end = len(lines)
    for index in reversed(range(len(lines))):
        if end - index > _SIGNATURE_LINES:
            break
        if len(lines[index]) < 5 and _DELIMITER.match(lines[index]):
            below = next((x.strip() for x in lines[index + 1 :] if x.strip()), "")
            if lines[index] in "—–" and below[:1].islower():
                break  # a dash that was broken off: the sentence goes on below
            end = index
    lines = _with_postscript(lines, end)
    lines = _cut_at_rule(_without_blank_end(lines))
    lines = _without_blank_end(lines)
    # Below a sign-off keep the name and what is writing.
    first = max(0, len(lines) - _SIGN_OFF_LINES)
    for index in reversed(range(first, len(lines))):
        name = _after_sign_off(lines, index)
        if name is not None:
            kept = _cut_below_name(lines, name)
            if len(kept) < len(lines):
                return kept
            break
    name = _name_above_contacts(lines)
    return lines if name is None else _with_postscript(lines, name + 1)


def _goodbye(lines: list[str]) -> int:
    """The last line with a sign-off and a name below it; 0 if absent."""
    for index in reversed(range(max(1, len(lines) - _FOOTER_LINES), len(lines) - 1)):
        if _after_sign_off(lines, index) is not None and not lines[index - 1].strip():
            following = next_line(lines, index + 1)
            if following is not None and _is_name(lines[following]):
                return index
    return 0


def sign_off_of(text: str) -> tuple[str, str]:
    """The sign-off and the name that end a message, each empty if absent. A line that
    no list has is a sign-off if a name stands below it and nothing above it."""
    lines = text.strip().split("\n")
    words = [index for index, line in enumerate(lines) if line.strip()]
    while len(words) > 1 and any(
        _is_postscript(lines[index]) for index in words[-_NAME_WORDS:]
    ):
        words.pop()
    last = [lines[index].strip() for index in words[-3:]]
    for at, index in enumerate(words[-3:]):
        name = _after_sign_off(lines, index) if index else None
        if name is None:
            continue
        if name != index:
            return last[at], lines[name].strip()
        line = last[at]
        end = _sign_off_end(bare_line(line))
        rest = bare_line(line)[end:].strip()
        if rest and len(last) == at + 1:
            named = line[len(line) - len(rest) :].strip(" ,-–—")
            return line[: len(line) - len(rest)].strip(), named
        if len(last) == at + 1:
            return line, ""
    if len(words) < 2 or not _is_name(last[-1]) or last[-1].endswith((".", ",")):
        return "", ""
    apart = not lines[words[-1] - 1].strip()
    above = lines[words[-2] - 1].strip() if words[-2] else "text"
    if not apart and not above and len(last[-2]) < _LONGEST_GOODBYE:
        return last[-2], last[-1]
    alone = apart and len(last[-1].split()) < _NAME_WORDS - 1
    return ("", last[-1]) if alone else ("", "")


def drop_armour(lines: list[str]) -> list[str]:
    """The lines without PGP signatures, keys, ciphertext and the signing header."""
    if not any(line.startswith(_PGP_BEGIN) for line in lines):
        return lines
    kept: list[str] = []
    closing = ""
    header = escaped = False
    for line in lines:
        block = _PGP_BLOCK.match(line)
        if closing:
            closing = "" if line == closing else closing
        elif block:
            closing = f"-----END PGP {block.group(1)}-----"
            escaped = False
        elif line == _PGP_SIGNED:
            header = escaped = True
        elif header and _PGP_HEADER.match(line):
            escaped = escaped and not line.startswith("NotDashEscaped")
        else:
            header = False
            # Signing puts '- ' before lines that begin with a dash (RFC 9580, 7.2).
            kept.append(line.removeprefix("- ") if escaped else line)
    return kept


def _cut_at_rule(lines: list[str]) -> list[str]:
    """Cut at a line of dashes if what stands below it is a contact block."""
    for index in range(max(1, len(lines) - _SIGNATURE_LINES), len(lines)):
        line = lines[index]
        if not line[:1].isalnum() and _RULE.match(line[:LONGEST]):
            below = [line for line in lines[index + 1 :] if line.strip()]
            short = len(below) <= _MOTTO_LINES and not any(map(_is_speech, below))
            if (
                not below
                or _IMAGE.match(below[0])
                or (_is_name(below[0]) and _reaches_somebody(below))
                or (short and _ends_with_name(lines[:index]))
            ):
                return _with_postscript(lines, index)
    return lines


def _ends_with_name(lines: list[str]) -> bool:
    """Whether a sign-off and a name, and nothing else, end a message."""
    words = [index for index, line in enumerate(lines) if line.strip()][-2:]
    return any(_after_sign_off(lines, index) == words[-1] for index in words)


def _is_speech(line: str) -> bool:
    """A line that speaks to somebody, leads on or belongs to a list."""
    said = _SPEECH.search(line.lower()) is not None
    return said or line.rstrip().endswith("?") or _leads_on(line)


def _after_sign_off(lines: list[str], index: int) -> int | None:
    """The line below which a signature may stand, if a sign-off stands at `index`."""
    if not 0 < len(lines[index]) < _LONGEST_GOODBYE:
        return None
    line = bare_line(lines[index])
    end = _sign_off_end(line)
    if not end:
        return None
    rest = line[end:].strip()
    if rest and (not _is_name(rest) or len(rest.split()) > 3 or rest[-1] == "."):
        return None
    if rest and _is_named(lines[index], rest):  # 'Best, Sam', not 'Yours in a hurry,'
        return index
    following = next_line(lines, index + 1)
    if following is None:
        return index
    return following if _is_name(lines[following]) else index


@lru_cache(maxsize=1_024)  # a mail is read until nothing changes: at least twice
def _sign_off_end(line: str) -> int:
    """Where the sign-off ends that a line begins with; 0 without one."""
    match = _SIGN_OFF.match(line)
    return match.end() if match else 0


def _is_named(line: str, rest: str) -> bool:
    """Whether the rest of a line, behind a sign-off, is a name and not more of it: it
    stands apart or has a capital, and the line does not lead to the next."""
    line = line.strip()
    before, name = line[: -len(rest)].rstrip(), line[-len(rest) :]
    apart = bool(before) and not before[-1].isalnum()
    return name[-1] != "," and (apart or not name[0].islower())


def _cut_below_name(lines: list[str], name: int) -> list[str]:
    """Drop what stands below the name if it is a contact block or a title."""
    block = _block_below(lines, name)
    if not block or len(block) > _SIGNATURE_LINES:
        return lines
    if _is_fuller_name(block, lines[name]) or _is_letterhead(block):
        return _with_postscript(lines, name + 1)
    attached = bool(lines[name + 1].strip())
    if any(map(_is_sentence, block)) or any(map(_leads_on, block)):
        return lines
    if _evidence(block) or (attached and (_is_title(block) or _is_post(lines, name))):
        return _with_postscript(lines, name + 1)
    return lines


def _block_below(lines: list[str], index: int) -> list[str]:
    """The lines with words below this one, up to a postscript."""
    words = filter(str.strip, lines[index + 1 :])
    return list(takewhile(lambda line: not _is_postscript(line), words))


def _is_letterhead(block: list[str]) -> bool:
    """Several ways to reach somebody, or one and a logo: a company's slogan may stand
    there too, but nobody is spoken to."""
    if any(map(_is_speech, block)):
        return False
    reached = sum(_REACHED.search(line) is not None for line in block)
    return reached > 2 or (reached > 0 and any(map(_IMAGE.match, block)))


def _is_post(lines: list[str], name: int) -> bool:
    """A title right below a name, and then lines of an address: each has a number."""
    below = lines[name + 1 :]
    title = list(takewhile(str.strip, below))
    rest = [line for line in below[len(title) :] if line.strip()]
    if not rest or len(rest) > _MOTTO_LINES or not _is_title(title):
        return False
    return all(len(x) < 60 and re.search(r"\d", x) and not _is_speech(x) for x in rest)


def _is_fuller_name(block: list[str], name: str) -> bool:
    """'Anna Berg' and a line more, below 'Anna': there a signature begins."""
    first, full = name.strip(" ,.*_-–—").lower(), block[0].strip(" ,.*_-–—").lower()
    longer = first != full and f" {first} " in f" {full} "
    if len(block) < 2 or not longer or not 0 < len(first.split()) < _NAME_WORDS:
        return False
    title = _is_name(block[0]) and _is_title([line.rstrip(",") for line in block[:2]])
    return title and not _is_sentence(block[0]) and not _is_sentence(block[1])


def _name_above_contacts(lines: list[str]) -> int | None:
    """Where a name stands right above a contact block that ends the message."""
    end = len(lines)
    for index in reversed(range(max(1, end - _SIGN_OFF_LINES), end - 2)):
        if lines[index - 1].strip():
            continue
        card = "|" in lines[index] and _CARD.match(lines[index]) is not None
        if not card and not _is_name(lines[index]):
            continue
        if _leads_on(lines[index]) or (index > 1 and _leads_on(lines[index - 2])):
            continue  # 'You reach him here:'
        block = _block_below(lines, index)
        signs = _evidence(block)
        signs += bool(signs) and _is_fuller_name(block, lines[index])
        if (signs < 2 and not card) or not _reaches_somebody(block):
            continue
        if card:
            return index - 1
        goodbye = lines[index].endswith(",") and _is_name(lines[index + 1])
        return index + goodbye
    return None


def _reaches_somebody(block: list[str]) -> bool:
    """Whether a block is one of contacts: a number or an address of mail stands in it,
    and neither a sentence nor a sign-off, which somebody writes below his own words."""
    if any(len(line) >= _SHORT or _is_sentence(line) for line in block):
        return False
    if any(_after_sign_off(block, index) for index in range(len(block))):
        return False
    return any(_REACHED.search(line) for line in block)


def _leads_on(line: str) -> bool:
    """Whether a line ends with a colon and is no word such as 'Phone:'."""
    return line.endswith((":", "：")) and not _LABEL.match(line)


def _with_postscript(lines: list[str], end: int) -> list[str]:
    """The lines up to `end`, and a postscript that stands below."""
    for index in range(end + 1, len(lines)):
        if _is_postscript(lines[index]) and not lines[index - 1].strip():
            return [*lines[:end], "", *lines[index:]]
    return lines[:end]


def _is_postscript(line: str) -> bool:
    return _PS.match(line[:_SHORT].lower()) is not None


def _evidence(block: list[str]) -> int:
    """How many addresses and numbers to reach somebody by stand there."""
    if any(len(line) >= _SHORT for line in block):
        return 0
    return sum(
        len(_CONTACT.findall(line)) for line in block if _MAY_BE_CONTACT.search(line)
    )


def _is_title(block: list[str]) -> bool:
    """A few short lines like a role, a company and a town."""
    return len(block) < 5 and all(
        len(line) < 60
        and len(line.split()) < 9
        and _LETTER.search(line) is not None
        and not line.lstrip()[:1].islower()
        and not line.endswith((",", ":", ";"))
        for line in block
    )


def _is_sentence(line: str) -> bool:
    if not _SENTENCE.search(line[-20:]) or _is_contact(line) or _MOTTO.match(line):
        return False
    words = line.split()
    if len(words) > 4 or not line.isascii():
        return True
    return len(words) > 2 and all(word.islower() for word in words[1:])


def _is_name(line: str) -> bool:
    line = line.strip()
    if len(line) >= _LONGEST_NAME or len(line.split()) > _NAME_WORDS:
        return False
    if line.endswith(("?", "!", ":", ";", "。", "？")) or _DIGITS.search(line):
        return False
    return not _is_contact(line) and not _PS.match(line.lower())


def _is_contact(line: str) -> bool:
    line = line[:LONGEST]
    return bool(_MAY_BE_CONTACT.search(line)) and _CONTACT.search(line) is not None


def _without_blank_end(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end] if end < len(lines) else lines
