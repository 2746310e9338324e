"""How mail programs put one's words and the words of others into a body.

Each shape takes a draft and the own words, already with what stands below them, and
gives the plain and the HTML body. Most are templates of programs.toml.
"""

import random
from collections.abc import Callable
from functools import partial
from html import escape
from textwrap import wrap
from typing import Any

from tests.mails.texts import Draft, table

Bodies = tuple[str, str]
"""Plain text and HTML."""
Shape = Callable[[Draft, str], Bodies]
PHRASES = ("gmail", "apple", "bird", "sent", "original", "bar", "begin", "forward",
           "date", "phone", "outlook", "yahoo")  # fmt: skip


def prefixed(text: str, mark: str) -> str:
    """Text with a mark before each line."""
    return "\n".join(f"{mark}{line}".rstrip() for line in text.split("\n"))


def in_html(text: str) -> dict[str, str]:
    """Lines as Gmail and Apple, most others, and Word write them."""
    lines = []
    for line in text.split("\n"):
        body = line.lstrip(" ")
        lines.append("&nbsp;" * (len(line) - len(body)) + escape(body))
    word = (
        f'<p class="MsoNormal">{line or "&nbsp;"}<o:p></o:p></p>\n' for line in lines
    )
    return {
        "divs": "".join(f"<div>{line or '<br>'}</div>" for line in lines),
        "breaks": "<br>\n".join(lines),
        "word": "".join(word),
    }


def breaks(text: str) -> str:
    """Lines with breaks between them."""
    return in_html(text)["breaks"]


def in_both(body: str) -> Bodies:
    """A body as plain text, and as HTML that says no more."""
    return body, f"<html><body>{breaks(body)}</body></html>"


def broken(line: str, width: int) -> str:
    return "\n".join(wrap(line, width, break_long_words=False, break_on_hyphens=False))


def width_of(d: Draft) -> int:
    """Between a narrow phone and a wide window; the same for a draft."""
    return 36 + int(d.time[-2:]) * 44 // 60


def inline(d: Draft, own: str) -> Bodies:
    """Answers between the lines of the other, as mutt and Thunderbird leave them."""
    paragraphs = own.split("\n\n")
    theirs = d.theirs.split("\n\n")
    plain = [paragraphs[0], "", d.line("bird")]
    html = [f"<p>{breaks(paragraphs[0])}</p>"]
    html.append(f'<div class="moz-cite-prefix">{escape(d.line("bird"))}</div>')
    for number, paragraph in enumerate(paragraphs[1:]):
        piece = theirs[min(number, len(theirs) - 1)]
        plain += [prefixed(piece, "> "), "", paragraph, ""]
        html.append(f'<blockquote type="cite">{breaks(piece)}</blockquote>')
        html.append(f"<p>{breaks(paragraph)}</p>")
    return "\n".join(plain), "".join(html)


def mailmate(d: Draft, own: str) -> Bodies:
    """MailMate's forward; a long line lost its mark."""
    lines = prefixed(d.theirs, "> ").split("\n")
    first = next((i for i, x in enumerate(lines[3:], 3) if len(x) > 30), 2)
    lines[first] = lines[first].replace(" ", "\n", 6).replace("\n", " ", 5).lstrip("> ")
    head = f"> From: {d.who} <{d.mail}>\n> To: sam@example.org\n> Subject: plan\n"
    head += f"> Date: Tue, {d.day} Mar {d.year} {d.time}:09 +0100"
    body = "\n".join(lines[: first + 1]) + "\n"
    body += "\n".join(lines[first + 1 :]) or "> "
    return in_both(f"{own}\n\nForwarded message:\n\n{head}\n>\n{body}\n>\n> Bye\n")


def polymail(d: Draft, own: str) -> Bodies:
    """Polymail: an address inside an address."""
    when = f"On Tue, Mar {d.day}, {d.year} at {d.time} AM"
    intro = f"{when} {d.who} < mailto:{d.who} <{d.mail}> > wrote:"
    return in_both(
        f"{own}\n\n{broken(intro, width_of(d) + 16)}\n\n{prefixed(d.theirs, '> ')}\n"
    )


def filled(entry: dict[str, Any], d: Draft, own: str) -> Bodies:
    """The bodies of a template of programs.toml."""
    phrases = {name: d.line(name if name in d.phrases else "gmail") for name in PHRASES}
    phrases |= {f"label{n}": str(one) for n, one in enumerate(d.phrases["labels"])}
    values = {"own": own, "theirs": d.theirs, **phrases}
    for whose, text in (("own", own), ("theirs", d.theirs)):
        values |= {f"{whose}_{name}": said for name, said in in_html(text).items()}
    for name, said in phrases.items():
        values[f"{name}_html"] = escape(said)
        values[f"{name}_bare"] = said.strip()
        values[f"{name}_narrow"] = broken(said, width_of(d))
    values["gmail_filled"] = broken(phrases["gmail"], 72)
    marks = {"quoted": "> ", "marked": ">", "deep": "    "}
    values |= {name: prefixed(d.theirs, mark) for name, mark in marks.items()}
    lines = d.theirs.split("\n")
    values["initial"] = "\n".join(f"A> {line}" if line else "" for line in lines)
    values["indented"] = "\n".join(f"  {line}" if line else "" for line in lines)
    values |= {"who": d.who, "mail": d.mail, "name": d.name, "t": d.time}
    values |= {"me": d.name.split()[0].lower(), "yy": f"{d.year % 100:02}"}
    forms = [entry["plain"]] if isinstance(entry["plain"], str) else entry["plain"]
    plain = forms[d.day % len(forms)].format(d=d.day, y=d.year, **values)
    if "html" not in entry:
        return in_both(plain)
    return plain, entry["html"].format(d=d.day, y=d.year, **values)


_PROGRAMS = table("programs.toml")
_FUNCTIONS = {"inline": inline, "mailmate": mailmate, "polymail": polymail}
SHAPES: dict[str, tuple[str, Shape]] = {
    name: (entry.get("position", "top"), _FUNCTIONS.get(name, partial(filled, entry)))
    for name, entry in _PROGRAMS.items()
}
"""By program: where the own words stand, and the function."""


def below(d: Draft, rng: random.Random) -> tuple[str, str]:
    """What a company or a list puts below the own words: (kind, text)."""
    first = d.name.split()[0].lower()
    number = f"+49 30 555{rng.randint(1000, 9999)}"
    kinds = {
        "signature": f"-- \n{d.name}\nLumen & Oak GmbH\nTel. {number}",
        "contacts": f"Project Lead | Atelier Kaya\nT {number}\n{first}@example.org\n"
        "www.atelier.example",
        "notice": d.line("notice"),
        "list": f"{'_' * 47}\nplans mailing list\nplans@lists.example.org\n"
        "https://lists.example.org/mailman/listinfo/plans",
        "guard": "Virus-free. www.avast.com",
    }
    kind = rng.choice(list(kinds))
    return kind, kinds[kind]
