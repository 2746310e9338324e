"""What programs for meetings put into a mail: links, ids, passcodes, numbers to dial.

Teams, Zoom, Meet, Webex and their like write a block above or below somebody's words,
calendars one around them. A block is recognised by shape, whatever its language: at
least two of a link to join, an id, a passcode and a number with a code to dial, or one
of them under a heading that names the program. A link alone may be somebody's own.
"""

from collections.abc import Iterator

from personal_store.cleaning import phrases
from personal_store.cleaning.phrases import pattern
from personal_store.cleaning.quotes import bare_line

_HINTS = (
    *("teams", "zoom", "webex", "meet.google", "google meet", "tel.meet", "gotomeet"),
    *("google.com/calendar", "calendar.google", "meet.jit.si", "jitsi", "skype"),
    *("lync", "whereby", "chime.aws", "bluejeans", "ringcentral", "*~*~*~"),
    "goto.com",
)
"""One of them stands in every block; most mails have none."""

_HOST = (
    r"(?:teams\.(?:microsoft|live)\.com/(?:l/meetup-join|meet)|aka\.ms/jointeams"
    r"|dialin\.teams|teams\.microsoft\.com/(?:meetingoptions|usp)|[\w.-]*zoom(?:gov)?\."
    r"(?:us|com(?:\.cn)?)/|meet\.google\.com/|tel\.meet/|[\w-]+\.webex\.com/"
    r"|(?:global\.|meet\.)?goto(?:meeting|meet)?\.(?:com|me)/|meet\.jit\.si/"
    r"|join\.skype\.com|meet\.lync\.com|whereby\.com/|chime\.aws/|bluejeans\.com/"
    r"|[vm]\w*\.ringcentral\.com/|calendar\.google\.com/|google\.com/calendar/"
    r"|support\.google\.com/(?:a/users|calendar))"
)
_URL = pattern(r"<?(?:https?://|tel:|mailto:)[^\s<>]+>?")
_HOSTED = pattern(rf"(?:https?://)(?:www\.)?{_HOST}|<tel:")
_LABELLED = pattern(
    r"(?:^|[:：]|\S)\s*<(?:https?|tel):|[:：]\s*https?://|^\W*https?://"
)
_ID = pattern(r"[^\d:：]{2,50}[:：]\s*(\d[\d \u00a0-]{7,16}\d)\s*#?\W*")
_TOKEN = pattern(r"[^\d:：]{2,40}[:：]\s*[^\s:：/]{3,24}")
_PASS = pattern(
    rf"(?:[^\d:：]{{0,30}}\W)?(?:{phrases.PASSCODE})"
    r"(?: \([^()]{1,30}\))?\s?[:：]\s*\S{3,24}(?: \([^()]{1,60}\))?\W*"
)
_NUMBER = r"\(?\w{0,3}\)?\s?\+\d[\d ().-]{6,}"
_DIAL = pattern(
    rf"\W*(?:[^\d+]{{1,60}}\W)?{_NUMBER}(?:,,[\d*#,]+|.{{0,30}}\b(?:pin|code)\b"
    r"[^\w]*\d|.{0,12}\d#).*|\W*(?:[^\W\d]\w* )?\d{6,}(?:\.\w+)?@[\w.-]+\W*"
)
_PHONE = pattern(
    rf"[^\d.?!]{{0,30}}(?:{_NUMBER}|\d{{1,3}}(?:\.\d{{1,3}}){{3}})"
    r"(\W*[^\W\d]{2}[^?!\d]{0,60})?\W*|\W*\d[\d ()-]{8,}\d (?:us|uk|ca)\b[^?!\d]{0,40}"
)
_RULE = pattern(r"[\W_]{8,}|~~//~~")
_STARS = pattern(r"\W*(?:\*~){5,}\*?\W*")
_LABEL = pattern(r"[^:：]{1,40}[:：](?:\s.*)?|[-•*·]\s.*")
_SERVICE = pattern(
    r"microsoft teams|zoom|webex|google meet|google (?:calendar|kalender|agenda)"
    r"|gotomeeting|jitsi|skype|teams[- ](?:meeting|besprechung|vergadering|møte)"
)
_ASKED = pattern(phrases.INVITED)
_ASKED_FOR = pattern(
    r"please join my meeting from your|you have been invited to the following event"
)
_CALENDAR = pattern(r"//(?:www\.)?(?:calendar\.google\.com|google\.com/calendar)/")
_CALENDAR_END = pattern(
    rf"~~//~~|[^:：]{{5,60}}[:：]\s?https?:{_CALENDAR.pattern}(?:calendar/)?"
)
"""Begins what Google Calendar writes below an invitation."""
_TIMES = pattern(
    r".*\d (?:⋅|·) ?\d.*|.*(?:time|zeit|heure|hora|ora|tijd|tid|время)\b.* - .*|"
    rf"(?:{phrases.MEETING_LABELS})\s?[:：]\s.*"
)
_CLOSING = pattern(rf"(?:{phrases.MEETING_LINKS})\b.{{0,60}}")
_OURS = pattern(rf"(?<!\w)(?:{phrases.FIRST_PERSON}|{phrases.WE})(?!\w)")
_I = pattern(r"(?<!\w)I(?!\w)")
_SIGN_OFF = pattern(rf"[\s*_]*(?:{phrases.SIGN_OFF})(?!\w)\W{{0,3}}.{{0,30}}")
_GAP = 7  # lines of a block in a row that have no such thing in them
_ABOVE = 5  # lines between a heading and the first of them
_QUIET = 110  # characters of a line that a program may have written between others
_STOPS = (".", "!", "?", "…", "。", "！", "？")
_STRONG = frozenset({"link", "id", "pass", "dial"})
_HEADS = frozenset({"head", "asked", "rule"})


def drop_invitations(lines: list[str]) -> list[str]:
    """The lines without the blocks of programs for meetings and of calendars."""
    text = "\n".join(lines).lower()
    if not any(hint in text for hint in _HINTS):
        return lines
    kinds = _kinds(lines)
    gone = {index for block in _blocks(lines, kinds) for index in block}
    if not gone:
        return lines
    return [line for index, line in enumerate(lines) if index not in gone]


def _kinds(lines: list[str]) -> list[str]:
    """What each line is: strong evidence, a heading, 'quiet' or somebody's words."""
    bare = [bare_line(line).strip() for line in lines]
    kinds = [_kind(*pair) for pair in zip(bare, lines, strict=True)]
    for index, line in enumerate(bare):
        near = {*kinds[max(0, index - 1) : index], *kinds[index + 1 : index + 2]}
        if kinds[index] == "quiet" and "id" in near and _TOKEN.fullmatch(line):
            kinds[index] = "pass"  # in a language that _PASS does not know
        if line.endswith((":", "：")) and index + 1 < len(bare):  # as tables are shown
            both = f"{line} {bare[index + 1]}"
            if (kind := _kind(both, both)) in ("id", "pass"):
                kinds[index : index + 2] = kind, kind
    return kinds


def _kind(line: str, written: str) -> str:
    if not line:
        return ""
    if _STARS.fullmatch(line):
        return "stars"
    if _RULE.fullmatch(line):
        return "rule"
    said = _URL.sub(" ", written.replace("US", "")).strip()  # the country
    ours = _says_we(said)
    if not ours and len(said) < 3 * _QUIET and _DIAL.fullmatch(_URL.sub("", line)):
        return "dial"
    few = not ours and len(said) <= _QUIET and len(said.split()) <= 14
    shaped = _LABELLED.search(line) or _CALENDAR.search(line)
    if few and shaped and _HOSTED.search(line):
        return "link"
    number = _ID.fullmatch(line)
    if number and 9 <= sum(map(str.isdigit, number[1])) <= 13:
        return "id"
    if _PASS.fullmatch(line):
        return "pass"
    if _ASKED_FOR.match(line):
        return "asked"
    if ours or len(said) > _QUIET or _SIGN_OFF.fullmatch(line):
        return "own"
    named = _SERVICE.search(line) is not None
    if (named or "meeting" in line) and _ASKED.search(line):
        return "asked"
    short = len(line.split()) <= 8 and not line.endswith((".", "!", ",", ":"))
    return "head" if named and short else "quiet"


def _blocks(lines: list[str], kinds: list[str]) -> Iterator[range]:
    """The stretches of lines that a program wrote."""
    for index, line in enumerate(lines):
        if kinds[index] == "stars":  # Outlook's: when and where, above
            first = index
            while first and (not kinds[first - 1] or _is_label(lines[first - 1])):
                first -= 1
            yield range(first, index + 1)
        elif _CALENDAR_END.fullmatch(bare_line(line).strip()):
            below = range(index, len(lines))
            own = next((i for i in below if _says_we(lines[i])), len(lines))
            google = (i for i in below if i < own and "google.com" in lines[i])
            ends = [i for i in google if _HOSTED.search(lines[i].lower())]
            yield range(index, max(ends, default=index) + 1)
    last = -1
    for index, kind in enumerate(kinds):
        if kind in _STRONG and index > last:
            last = _last(lines, kinds, index)
            first = _first(lines, kinds, index)
            found = {*kinds[first : last + 1]}
            if len(found & _STRONG) > 1 or found & {"head", "asked"}:
                yield range(first, _end(lines, kinds, first, last))


def _first(lines: list[str], kinds: list[str], index: int) -> int:
    """Where a block begins whose first strong line is this one."""
    first = index
    quiet = 0
    for above in reversed(range(index)):
        kind = kinds[above]
        if kind in _HEADS:
            first, quiet = above, 0
            if kind == "rule":
                break
        elif kind == "quiet" and not _is_label(lines[above]):
            quiet += 1
            if lines[above].rstrip().endswith(_STOPS) and "|" not in lines[above]:
                break  # a sentence, and so somebody's
        if kind in ("own", "stars") or kind in _STRONG or quiet > _ABOVE:
            break
    for above in reversed(range(first)):
        line = bare_line(lines[above]).strip()
        if _TIMES.fullmatch(line) or (line, kinds[first]) == ("hi there,", "asked"):
            first = above
        elif line:
            break
    return first


def _last(lines: list[str], kinds: list[str], index: int) -> int:
    """The last strong line of a block, with a few quiet ones between two of them."""
    last, quiet = index, 0
    for below in range(index + 1, len(lines)):
        number = _PHONE.fullmatch(bare_line(lines[below]).strip())
        if kinds[below] in _STRONG or (number and number[1]):
            last, quiet = below, 0
        elif kinds[below] == "quiet" and not number:
            quiet += 1
        if kinds[below] in ("own", "stars") or quiet > _GAP:
            break
    return last


def _end(lines: list[str], kinds: list[str], first: int, last: int) -> int:
    """Behind what goes with a block: numbers, closing words, its second rule."""
    end = last + 1
    for below in range(end, len(lines)):
        line = bare_line(lines[below]).strip()
        if kinds[first] == "rule" == kinds[below] and lines[below] == lines[first]:
            return below + 1
        if _PHONE.fullmatch(line) or _CLOSING.fullmatch(line):
            if end == below or not any(kinds[end:below]):
                end = below + 1
        elif kinds[below] not in ("", "quiet", "rule", "head"):
            break
    return end


def _says_we(said: str) -> bool:
    return bool(_I.search(said) or _OURS.search(bare_line(said)))


def _is_label(line: str) -> bool:
    return _LABEL.fullmatch(line.strip()) is not None
