"""Which lines of a message are somebody else's: quotes and forwarded mail.

Works on lines. A line only counts as the introduction of a quote if it carries a date
or an address besides looking like one: a lost quote teaches somebody else's style, but
so does prose that was cut because it said "he wrote:". Words of a language decide as
little as can be; shape decides where it can, so that it works in languages not listed.
"""

import re

from personal_store.cleaning.headings import (
    introduces_marked_headers,
    is_groupwise,
    tail_start,
)
from personal_store.cleaning.introductions import (
    HARD,
    LONGEST,
    MAIL,
    QUOTED,
    SOFT,
    TORN_END,
    bare_line,
    introduction,
    is_sure,
    quote_follows,
)

_HINTS = (">", ":", "：", "*", SOFT, HARD, "--", "__", "==", "‐‐", "––", "——", "##")
_VERB = re.compile(r"\bwrote\b")
_TORN_LINES = 12  # that lost their marks one below the other
_LINK_PIECE = re.compile(r"[=%/]\S")
_ARROW = re.compile(r"^\s{0,3}>(?=[=\d])")


def drop_quotes(lines: list[str]) -> list[str]:
    """The lines without quotes, their introductions and everything forwarded."""
    text = "\n".join(lines)
    hinted = _hinted(lines, text)
    if not hinted:
        return lines
    return _without_quotes(lines, _bare_lines(lines, text), hinted)


def _without_quotes(lines: list[str], bare: list[str], hinted: set[int]) -> list[str]:
    kept: list[int] = []
    soft = False  # whether indented lines are known to be quotes
    forwarded = False  # whether marked lines are: nobody answers between those
    for index in range(len(bare)):
        if forwarded and _is_between_marks(bare, index, kept):
            continue
        if index not in hinted:
            if not (index - 1 in hinted and _is_torn_off(bare, index)):
                kept.append(index)
            continue
        if _is_quoted(bare, index) or (soft and lines[index].startswith(SOFT)):
            continue
        found = _foreign_from(lines, bare, index)
        if found is None:
            kept.append(index)
            continue
        start, to_the_end = found
        while kept and kept[-1] >= start:
            kept.pop()
        if to_the_end:
            break
        soft = True
        forwarded = forwarded or introduces_marked_headers(bare, index)
    while len(kept) > 1 and _is_indented_end(lines, kept):
        kept.pop()
    return [lines[index] for index in kept] if len(kept) < len(lines) else lines


def _foreign_from(
    lines: list[str], bare: list[str], index: int
) -> tuple[int, bool] | None:
    """Where the words of others begin that this line tells of, and whether they go on
    to the end; None if it tells of none."""
    if introduces_marked_headers(bare, index):
        return index, False
    start = tail_start(bare, index)
    if start is not None:
        return start, True
    width = introduction(bare, index)
    followed = bool(width) and quote_follows(lines, index + 1)
    sure = bool(width) and not followed and is_sure(bare, index, width)
    return (index - width + 1, sure) if followed or sure else None


def _is_between_marks(lines: list[str], index: int, kept: list[int]) -> bool:
    """A line that lost its mark: it hangs between marked ones, without a gap."""
    if not lines[index].strip() or not index or index - 1 in kept[-1:]:
        return False
    if not lines[index - 1].strip() or QUOTED.match(lines[index]):
        return False
    ahead = lines[index : index + _TORN_LINES]
    below = next((x for x in ahead if not x.strip() or QUOTED.match(x)), "")
    return bool(below.strip())


def _hinted(lines: list[str], text: str) -> set[int]:
    """Lines that hold something without which no rule matches; searched word by word.

    One search of the whole text, and `in` for each line, take a tenth of a pattern.
    """
    found: set[int] = set()
    for hint in _HINTS:
        if hint in text:
            found.update([i for i, line in enumerate(lines) if hint in line])
    if "wrote" in text:
        found.update([i for i, line in enumerate(lines) if _VERB.search(line)])
    return found


def _bare_lines(lines: list[str], text: str) -> list[str]:
    """`bare_line` of each, but those that '>' marks."""
    if text.isascii():
        return [x if x[:1] == ">" else x[:LONGEST].lower() for x in lines]
    return [line if line[:1] == ">" else bare_line(line) for line in lines]


def _is_indented_end(lines: list[str], kept: list[int]) -> bool:
    """An indented text below one's own: what is indented among it is a quotation."""
    if lines[kept[-1]].startswith(SOFT):
        return not lines[kept[0]].startswith(SOFT)
    return not lines[kept[-1]].strip()


def _is_torn_off(lines: list[str], index: int) -> bool:
    """A piece of a link that a program broke off a quoted line, between two others."""
    if lines[index - 1][:1] != ">":
        return False
    below = lines[index + 1] if index + 1 < len(lines) else ""
    piece = len(lines[index].split()) < 3 and _LINK_PIECE.search(lines[index])
    return bool(piece) and QUOTED.match(below) is not None


def _is_quoted(lines: list[str], index: int) -> bool:
    """Marked by '>', unless it stands alone and says that something is larger."""
    if not QUOTED.match(lines[index]):
        return False
    if TORN_END.match(bare_line(lines[index])) and MAIL.search(lines[index - 1]):
        return False  # of an address in brackets, broken before its '> wrote:'
    if is_groupwise(lines, index):
        return False
    if not _ARROW.match(lines[index]):
        return True
    around = lines[max(0, index - 1) : index] + lines[index + 1 : index + 2]
    return any(QUOTED.match(line) for line in around)
