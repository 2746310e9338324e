"""How mail programs put one's words and the words of others into a body.

Every function takes the own words, already with what stands below them, and gives the
plain and the HTML body. They are written from what the programs send.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from html import escape
from textwrap import fill

from benchmarks.mail import blocks
from benchmarks.mail.pieces import Bodies, breaks, divs, quoted
from benchmarks.mail.programs import PROGRAMS
from benchmarks.mail.templates import TEMPLATES
from benchmarks.mail.texts import Draft

Shape = Callable[[Draft, str], Bodies]


def gmail(d: Draft, own: str) -> Bodies:
    """Gmail on the web."""
    intro = d.line("gmail")
    html = (
        f'<div dir="ltr">{divs(own)}</div><br>'
        f'<div class="gmail_quote gmail_quote_container"><div dir="ltr" '
        f'class="gmail_attr">{escape(intro)}<br></div><blockquote class="gmail_quote" '
        'style="margin:0px 0px 0px 0.8ex;border-left:1px solid rgb(204,204,204);'
        f'padding-left:1ex">{divs(d.theirs)}</blockquote></div>'
    )
    folded = fill(intro, 72, break_long_words=False, break_on_hyphens=False)
    return f"{own}\n\n{folded}\n\n{quoted(d.theirs)}\n", html


def gmail_old(d: Draft, own: str) -> Bodies:
    """Gmail of ten years ago, and its app: no class at the introduction."""
    intro = d.line("gmail")
    html = (
        f'<p dir="ltr">{breaks(own)}</p>\n<div class="gmail_extra"><br>'
        f'<div class="gmail_quote">{escape(intro)}<br type="attribution">'
        '<blockquote class="gmail_quote" style="margin:0 0 0 .8ex;border-left:1px '
        f'#ccc solid;padding-left:1ex"><p dir="ltr">{breaks(d.theirs)}</p>'
        "</blockquote></div><br></div>"
    )
    return f"{own}\n{intro}\n\n{quoted(d.theirs)}\n", html


def apple(d: Draft, own: str) -> Bodies:
    """Apple Mail."""
    intro = d.line("apple")
    html = (
        '<html><head></head><body style="overflow-wrap: break-word;">'
        f'{divs(own)}<div><br><blockquote type="cite"><div>{escape(intro)}</div>'
        f'<br class="Apple-interchange-newline"><div>{divs(d.theirs)}</div>'
        "</blockquote></div><br></body></html>"
    )
    return f"{own}\n\n> {intro}\n> \n{quoted(d.theirs)}\n", html


def iphone(d: Draft, own: str) -> Bodies:
    """Mail on the iPhone, with its tagline."""
    plain, html = apple(d, f"{own}\n\n{d.line('phone')}")
    return plain, html


def thunderbird(d: Draft, own: str) -> Bodies:
    """Thunderbird."""
    intro = d.line("bird")
    html = (
        f"<html><body><p>{breaks(own)}</p>"
        f'<div class="moz-cite-prefix">{escape(intro)}<br></div>'
        f'<blockquote type="cite" cite="mid:1@example.org"><p>{breaks(d.theirs)}</p>'
        "</blockquote></body></html>"
    )
    return f"{own}\n\n{intro}\n{quoted(d.theirs)}\n", html


def thunderbird_below(d: Draft, own: str) -> Bodies:
    """Thunderbird, answered below the quote."""
    intro = d.line("bird")
    html = (
        f'<html><body><div class="moz-cite-prefix">{escape(intro)}<br></div>'
        f'<blockquote type="cite" cite="mid:1@example.org">{breaks(d.theirs)}'
        f"</blockquote><p>{breaks(own)}</p></body></html>"
    )
    return f"{intro}\n{quoted(d.theirs)}\n\n{own}\n", html


def inline(d: Draft, own: str) -> Bodies:
    """Answers between the lines of the other, as mutt and Thunderbird leave them."""
    paragraphs = own.split("\n\n")
    theirs = d.theirs.split("\n\n")
    plain, html = (
        [paragraphs[0], "", d.line("bird")],
        [f"<p>{breaks(paragraphs[0])}</p>"],
    )
    html.append(f'<div class="moz-cite-prefix">{escape(d.line("bird"))}</div>')
    for number, paragraph in enumerate(paragraphs[1:]):
        piece = theirs[min(number, len(theirs) - 1)]
        plain += [quoted(piece), "", paragraph, ""]
        html.append(f'<blockquote type="cite">{breaks(piece)}</blockquote>')
        html.append(f"<p>{breaks(paragraph)}</p>")
    return "\n".join(plain), "".join(html)


def yahoo(d: Draft, own: str) -> Bodies:
    """Yahoo, whose introduction stays English often enough."""
    intro = (
        f"On Tuesday, March {d.day}, {d.year} at {d.time}:09 AM GMT+1, {d.who} "
        f"<{d.mail}> wrote:"
    )
    html = (
        f'<html><body><div class="ydp1yahoo-style-wrap">{divs(own)}</div>'
        f'<div id="ydp2yahoo_quoted_0123" class="ydp2yahoo_quoted"><div>'
        f"<div>{escape(intro)}</div>{divs(d.theirs)}</div></div></body></html>"
    )
    return f"{own}\n\n    {intro}  \n \n {d.theirs}\n", html


def proton(d: Draft, own: str) -> Bodies:
    """Proton Mail."""
    date = f"Tuesday, March {d.day}th, {d.year} at {d.time} AM"
    intro = f"On {date}, {d.who} <{d.mail}> wrote:"
    tag = "Sent with Proton Mail secure email."
    html = (
        f'<div style="font-family: Arial">{divs(own)}</div><div class="protonmail_'
        f'signature_block"><div class="protonmail_signature_block-proton">{tag}</div>'
        f'</div><br><div class="protonmail_quote">{escape(intro)}<br><br>'
        f'<blockquote class="protonmail_quote" type="cite">{divs(d.theirs)}'
        "</blockquote><br></div>"
    )
    return f"{own}\n\n{tag}\n\n{intro}\n\n{quoted(d.theirs)}\n", html


def zoho(d: Draft, own: str) -> Bodies:
    """Zoho Mail."""
    date = f"Tue, {d.day} Mar {d.year} {d.time}:00 +0100"
    intro = f"---- On {date} {d.who} <{d.mail}> wrote ----"
    inner = (
        f'<div class="zmail_extra">{escape(intro)}<br><br><blockquote '
        f'style="border-left: 1px solid #ccc">{divs(d.theirs)}</blockquote></div>'
    )
    return f"{own}\n\n{intro}\n\n{d.theirs}\n", f"<div>{divs(own)}<br></div>{inner}"


def yandex(d: Draft, own: str) -> Bodies:
    """Yandex: an address and a plain indentation."""
    intro = f'{d.day}.03.{d.year}, {d.time}, "{d.who}" <{d.mail}>:'
    html = (
        f"<div>{divs(own)}</div><div> </div><div>{escape(intro)}</div>"
        f"<blockquote>{divs(d.theirs)}</blockquote>"
    )
    return f"{own}\n\n{intro}\n{quoted(d.theirs)}\n", html


def roundcube(d: Draft, own: str) -> Bodies:
    """Roundcube."""
    intro = f"On {d.year}-03-{d.day} {d.time}, {d.who} wrote:"
    html = (
        f'<p>{breaks(own)}</p><p id="reply-intro">{escape(intro)}</p><blockquote '
        'type="cite" style="padding: 0 0.4em; border-left: #1010ff 2px solid">'
        f'<div id="replybody1">{divs(d.theirs)}</div></blockquote>'
    )
    return f"{own}\n\n{intro}\n{quoted(d.theirs)}\n", html


def spark(d: Draft, own: str) -> Bodies:
    """Spark."""
    intro = f"On {d.day} Mar {d.year} at {d.time} +0100, {d.who} <{d.mail}>, wrote:"
    html = (
        f'<html><body><div name="messageBodySection">{divs(own)}</div>'
        f'<div name="messageSignatureSection"><br>Sent with Spark</div>'
        f'<div name="messageReplySection">{escape(intro)}<br><blockquote type="cite" '
        f'style="border-left-color: grey;" class="spark_quote">{divs(d.theirs)}'
        "</blockquote></div></body></html>"
    )
    return f"{own}\n\nSent with Spark\n{intro}\n{quoted(d.theirs)}\n", html


SHAPES: dict[str, tuple[str, Shape]] = {
    "gmail": ("top", gmail),
    "gmail-old": ("top", gmail_old),
    "apple": ("top", apple),
    "iphone": ("top", iphone),
    "thunderbird": ("top", thunderbird),
    "thunderbird-below": ("bottom", thunderbird_below),
    "inline": ("inline", inline),
    "outlook": ("top", blocks.outlook),
    "outlook-bar": ("top", blocks.outlook_bar),
    "owa": ("top", blocks.owa),
    "outlook-phone": ("top", blocks.outlook_phone),
    "yahoo": ("top", yahoo),
    "proton": ("top", proton),
    "zoho": ("top", zoho),
    "zimbra": ("top", blocks.zimbra),
    "gmx": ("top", blocks.gmx),
    "samsung": ("top", blocks.samsung),
    "yandex": ("top", yandex),
    "qq": ("top", blocks.qq),
    "notes": ("top", blocks.notes),
    "roundcube": ("top", roundcube),
    "spark": ("top", spark),
    "em-client": ("top", blocks.em_client),
    "forward-gmail": ("forward", blocks.forward_gmail),
    "forward-apple": ("forward", blocks.forward_apple),
    "forward-apple-old": ("forward", blocks.forward_apple_unmarked),
    **PROGRAMS,
    **TEMPLATES,
}
"""By client: where the own words stand, and the function."""


def below(d: Draft, rng: random.Random) -> tuple[str, str]:
    """What a company or a list puts below the own words: (kind, text)."""
    first = d.name.split()[0].lower()
    number = f"+49 30 555{rng.randint(1000, 9999)}"
    kinds = {
        "signature": f"-- \n{d.name}\nLumen & Oak GmbH\nTel. {number}",
        "contacts": (
            f"Project Lead | Atelier Kaya\nT {number}\n{first}@example.org\n"
            "www.atelier.example"
        ),
        "notice": d.line("notice"),
        "list": (
            f"{'_' * 47}\nplans mailing list\nplans@lists.example.org\n"
            "https://lists.example.org/mailman/listinfo/plans"
        ),
        "guard": "Virus-free. www.avast.com",
    }
    kind = rng.choice(list(kinds))
    return kind, kinds[kind]
