"""How mail programs put one's words and the words of others into a body.

Every function takes the own words, already with what stands below them, and gives the
plain and the HTML body. They are written from what the programs send.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from html import escape
from pathlib import Path
from textwrap import fill, wrap

from tests.mails.texts import Draft

Bodies = tuple[str, str]
"""Plain text and HTML."""


def quoted(text: str, mark: str = "> ") -> str:
    """Text with a mark before each line."""
    return "\n".join(f"{mark}{line}".rstrip() for line in text.split("\n"))


def divs(text: str) -> str:
    """Each line a div, as Gmail and Apple write it."""
    lines = (_text(line) or "<br>" for line in text.split("\n"))
    return "".join(f"<div>{line}</div>" for line in lines)


def breaks(text: str) -> str:
    """Lines with breaks between them."""
    return "<br>\n".join(map(_text, text.split("\n")))


def word_paragraphs(text: str) -> str:
    """Each line a paragraph, as Word writes it."""
    lines = (_text(line) or "&nbsp;" for line in text.split("\n"))
    return "".join(f'<p class="MsoNormal">{line}<o:p></o:p></p>\n' for line in lines)


def in_both(body: str) -> Bodies:
    """A body as plain text, and as HTML that says no more."""
    return body, f"<html><body>{breaks(body)}</body></html>"


def _text(line: str) -> str:
    """Escaped; indentation survives as programs keep it."""
    body = line.lstrip(" ")
    return "&nbsp;" * (len(line) - len(body)) + escape(body)


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


def outlook(d: Draft, own: str) -> Bodies:
    """Outlook on the desktop."""
    rows = d.headers()
    block = "<br>".join(f"<b>{escape(k)}:</b> {escape(v)}" for k, v in rows)
    html = (
        '<html xmlns:o="urn:schemas-microsoft-com:office:office"><head><style>'
        'p.MsoNormal {margin:0cm}</style></head><body><div class="WordSection1">'
        f"{word_paragraphs(own)}<div><div style='border:none;border-top:solid #E1E1E1 "
        f'1.0pt;padding:3.0pt 0cm 0cm 0cm\'><p class="MsoNormal">{block}<o:p></o:p></p>'
        f"</div></div>{word_paragraphs(d.theirs)}</div></body></html>"
    )
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    return f"{own}\n\n{plain}\n\n{d.theirs}\n", html


def outlook_bar(d: Draft, own: str) -> Bodies:
    """Outlook with the bar of the original message above the headers."""
    plain = "\n".join(f"{k}: {v}" for k, v in d.headers())
    bar = f"-----{d.line('original')}-----"
    html = f"{breaks(own)}<br><br>{bar}<br>{breaks(plain)}<br><br>{breaks(d.theirs)}"
    return (
        f"{own}\n\n{bar}\n{plain}\n\n{d.theirs}\n",
        f"<html><body>{html}</body></html>",
    )


def owa(d: Draft, own: str) -> Bodies:
    """Outlook in the browser."""
    rows = d.headers()
    block = "<br>".join(f"<b>{escape(k)}:</b> {escape(v)}" for k, v in rows)
    html = (
        f'<html><body dir="ltr"><div class="elementToProof">{divs(own)}</div>'
        '<div id="appendonsend"></div><hr style="display:inline-block;width:98%" '
        f'tabindex="-1"><div id="divRplyFwdMsg" dir="ltr"><font face="Calibri">{block}'
        f"</font><div>&nbsp;</div></div><div>{divs(d.theirs)}</div></body></html>"
    )
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    return f"{own}\n{'_' * 32}\n{plain}\n\n{d.theirs}\n", html


def outlook_phone(d: Draft, own: str) -> Bodies:
    """Outlook on a phone, with its tagline."""
    tag = d.line("outlook")
    rows = d.headers()
    block = "<br>".join(f"<b>{escape(k)}:</b> {escape(v)}" for k, v in rows)
    html = (
        f'<html><body><div dir="ltr">{divs(own)}</div><div id="ms-outlook-mobile-'
        f'signature"><div><br></div>{escape(tag)}</div><hr style="display:inline-block;'
        f'width:98%" tabindex="-1"><div id="divRplyFwdMsg">{block}</div>'
        f"{divs(d.theirs)}</body></html>"
    )
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    body = f"{own}\n\n{tag}<https://aka.ms/o0ukef>\n{'_' * 32}\n{plain}\n\n{d.theirs}\n"
    return body, html


def zimbra(d: Draft, own: str) -> Bodies:
    """Zimbra."""
    keys = ("From", "To", "Sent", "Subject")
    values = (f'"{d.who}" <{d.mail}>', "sam@example.org", d.line("sent"), "plan")
    rows = list(zip(keys, values, strict=True))
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    html = (
        f'<html><body><div>{divs(own)}</div><hr id="zwchr" '
        'data-marker="__DIVIDER__"><div data-marker="__HEADERS__">'
        + "".join(f"<b>{k}: </b>{escape(v)}<br>" for k, v in rows)
        + f'</div><div data-marker="__QUOTED_TEXT__">{divs(d.theirs)}</div>'
        "</body></html>"
    )
    return f"{own}\n\n----- Original Message -----\n{plain}\n\n{d.theirs}\n", html


def gmx(d: Draft, own: str) -> Bodies:
    """GMX and web.de: the date stands first."""
    sent = f"Dienstag, {d.day}. März {d.year} um {d.time} Uhr"
    rows = [("Gesendet", sent), ("Von", f'"{d.who}" <{d.mail}>')]
    rows += [("An", "sam@example.org"), ("Betreff", "Re: Plan")]
    block = "<br>".join(f"<b>{k}:</b>&nbsp;{escape(v)}" for k, v in rows)
    html = (
        f'<html><body><div style="font-family: Verdana">{divs(own)}<div name="quote" '
        'style="margin:10px 5px 5px 10px; padding: 10px 0 10px 10px; border-left:2px '
        f'solid #C3D9E5;"><div>{block}</div><div name="quoted-content">'
        f"{divs(d.theirs)}</div></div></div></body></html>"
    )
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    return f"{own}\n \n\n{plain}\n\n{d.theirs}\n", html


def samsung(d: Draft, own: str) -> Bodies:
    """Samsung's mail, with tagline and a bar in the language."""
    label = [str(x) for x in d.phrases["labels"]]
    rows = [
        (label[0], f"{d.who} <{d.mail}>"),
        ("Date", f"{d.day}/03/{d.year} {d.time} (GMT+01:00)"),
    ]
    rows += [(label[2], "sam@example.org"), (label[3], "plan")]
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    bar = f"-------- {d.line('original')} --------"
    tag = "Sent from my Galaxy"
    html = (
        f'<html><body><div dir="auto">{divs(own)}</div><div id="composer_signature" '
        f'dir="auto">{tag}</div><div><br></div><div align="left" dir="auto" '
        f'style="font-size:100%;color:#000000"><div>{bar}</div>{divs(plain)}</div>'
        f"<div><br></div>{divs(d.theirs)}</body></html>"
    )
    return f"{own}\n\n\n{tag}\n\n\n{bar}\n{plain}\n\n{d.theirs}\n", html


def qq(d: Draft, own: str) -> Bodies:
    """QQ mail: a Chinese bar and grey headers."""
    rows = [
        ("发件人", f'"{d.who}" <{d.mail}>;'),
        ("发送时间", f"{d.year}年3月{d.day}日(星期二) 上午{d.time}"),
    ]
    rows += [("收件人", '"sam"<sam@example.org>;'), ("主题", "plan")]
    bar = "------------------ 原始邮件 ------------------"
    block = "".join(f"<div><b>{k}:</b>&nbsp;{escape(v)}</div>" for k, v in rows)
    html = (
        f"<div>{divs(own)}</div><div><br></div>"
        '<div style="font-size: 12px;font-family: '
        f'Arial Narrow;padding:2px 0 2px 0;">{bar.replace(" ", "&nbsp;")}</div>'
        f'<div style="font-size: 12px;background:#efefef;padding:8px;">{block}</div>'
        f"<div>{divs(d.theirs)}</div>"
    )
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    return f"{own}\n\n\n{bar}\n{plain}\n\n{d.theirs}\n", html


def notes(d: Draft, own: str) -> Bodies:
    """Lotus Notes."""
    plain = (
        f"From:\t{d.who}/Plant/Example\nTo:\t{d.name}/Office/Example@Example\n"
        f"Date:\t{d.day}.03.{d.year} {d.time}\nSubject:\tRe: plan\n"
    )
    html = (
        f'<font size=2 face="sans-serif">{breaks(own)}</font><br><br><br>'
        '<font size=1 color=#5f5f5f face="sans-serif">From: &nbsp; &nbsp;'
        f'</font><font size=1 face="sans-serif">{escape(d.who)}/Plant/Example</font>'
        "<br>"
        f"<font size=1>To: &nbsp; &nbsp;{escape(d.name)}/Office/Example@Example"
        "</font><br>"
        f"<font size=1>Date: &nbsp; &nbsp;{d.day}.03.{d.year} {d.time}</font><br>"
        f"<font size=1>Subject: &nbsp; &nbsp;Re: plan</font><br><hr noshade><br>"
        f"<tt>{breaks(d.theirs)}</tt>"
    )
    return f"{own}\n\n\n\n{plain}\n\n\n{d.theirs}\n", html


def em_client(d: Draft, own: str) -> Bodies:
    """eM Client: headers without colons in the newer versions, a bar above."""
    plain = (
        f'------ Original Message ------\nFrom: "{d.who}" <{d.mail}>\n'
        f"To: sam@example.org\nSent: {d.day}/03/{d.year} {d.time}:09\nSubject: Re: plan"
    )
    html = (
        f"<html><body><div>{divs(own)}</div><div><br></div><div>{breaks(plain)}</div>"
        f'<div><blockquote cite="1@example.org" type="cite" class="cite2">'
        f"{divs(d.theirs)}</blockquote></div></body></html>"
    )
    return f"{own}\n\n{plain}\n\n{quoted(d.theirs, '>')}\n", html


def forward_gmail(d: Draft, own: str) -> Bodies:
    """A message passed on by Gmail."""
    label = [str(x) for x in d.phrases["labels"]]
    bar = f"---------- {d.line('bar')} ---------"
    rows = [(label[0], f"{d.who} <{d.mail}>"), ("Date", d.line("sent"))]
    rows += [(label[3], "plan"), (label[2], "Sam <sam@example.org>")]
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    html = (
        f'<div dir="ltr">{divs(own)}</div><br><div class="gmail_quote"><div dir="ltr" '
        f'class="gmail_attr">{bar}<br>{breaks(plain)}<br></div><br><br>'
        f'<div dir="ltr">{divs(d.theirs)}</div></div>'
    )
    return f"{own}\n\n{bar}\n{plain}\n\n\n{d.theirs}\n", html


def forward_apple(d: Draft, own: str) -> Bodies:
    """A message passed on by Apple Mail."""
    rows = d.headers()
    plain = "\n".join(f"> {k}: {v}" for k, v in rows)
    block = "".join(f"<div><b>{escape(k)}: </b>{escape(v)}<br></div>" for k, v in rows)
    html = (
        f'<html><body>{divs(own)}<div><br><blockquote type="cite"><div>'
        f"{d.line('begin')}</div><br>{block}<br><div>{divs(d.theirs)}</div>"
        "</blockquote></div></body></html>"
    )
    body = f"{own}\n\n> {d.line('begin')}\n> \n{plain}\n> \n{quoted(d.theirs)}\n"
    return body, html


def forward_apple_unmarked(d: Draft, own: str) -> Bodies:
    """The same from an old version: nothing is marked."""
    rows = d.headers()
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    body = f"{own}\n\n{d.line('begin')}\n\n{plain}\n\n{d.theirs}\n"
    return body, f"<html><body>{breaks(body)}</body></html>"


def _folded(line: str, width: int) -> str:
    return "\n".join(wrap(line, width, break_long_words=False, break_on_hyphens=False))


def _width(d: Draft) -> int:
    """Somewhere between a narrow phone and a wide window; the same for a draft."""
    return 36 + int(d.time[-2:]) * 44 // 60


def _label(d: Draft, number: int) -> str:
    return list(map(str, d.phrases["labels"]))[number]


def yahoo_forward(d: Draft, own: str) -> Bodies:
    """Yahoo's plain text of a forward: bar and headers in one line."""
    to = f'"{d.name.split()[0].lower()}@example.org"'
    head = (
        f"   ----- {d.line('forward')} ----- {_label(d, 0)}: {d.who} <{d.mail}>"
        f"{_label(d, 2)}: {to} <sam@example.org>{_label(d, 1)}: {d.line('sent')}"
        f"{_label(d, 3)}: Re: plan"
    )
    html = (
        f'<html><body><div class="ydp1yahoo-style-wrap">{divs(own)}</div>'
        f'<div id="ydp2yahoo_quoted_0123" class="ydp2yahoo_quoted"><div>'
        f"{escape(head)}</div>{divs(d.theirs)}</div></body></html>"
    )
    return f"{own}\n\n{head}\n {d.theirs}\n", html


def yahoo_reply(d: Draft, own: str) -> Bodies:
    """Yahoo in the language of its user, nothing marked."""
    intro = d.line("yahoo") if "yahoo" in d.phrases else d.line("gmail")
    html = (
        f'<html><body><div class="ydp1yahoo-style-wrap">{divs(own)}</div>'
        f'<div id="ydp2yahoo_quoted_0123" class="ydp2yahoo_quoted"><div>'
        f"<div>{escape(intro)}</div>{divs(d.theirs)}</div></div></body></html>"
    )
    return f"{own}\n\n    {intro}  \n \n {d.theirs}\n", html


def yahoo_phone(d: Draft, own: str) -> Bodies:
    """Yahoo on Android: the words of the other begin in the line of the date."""
    intro = f"On Tue, Mar {d.day}, {d.year} at {d.time} AM, {d.who}<{d.mail}> wrote:"
    tag = "Sent from Yahoo Mail on Android"
    body = f"{own}\n\n{tag} \n \n  {intro}   {d.theirs}\n"
    html = (
        f"<div>{divs(own)}</div><br><div>{tag}</div><br><blockquote style='margin: 0 0 "
        f"20px 0;'><div>{escape(intro)}</div><div>{divs(d.theirs)}</div></blockquote>"
    )
    return body, html


def yahoo_classic(d: Draft, own: str) -> Bodies:
    """Yahoo of fifteen years ago."""
    day = f"Tue, 3/{d.day}/{str(d.year)[2:]}"
    return in_both(
        f"{own}\n\n--- On {day}, {d.who} <{d.mail}> wrote:\n\n"
        f"From: {d.who} <{d.mail}>\nSubject: Re: plan\nTo: sam@example.org\n"
        f"Date: Tuesday, March {d.day}, {d.year}, {d.time} AM\n\n{d.theirs}\n",
    )


def yahoo_rule(d: Draft, own: str) -> Bodies:
    """Yahoo between the two: a rule and indented headers."""
    rows = "\n".join(f" {k}: {v}" for k, v in d.headers())
    return in_both(f"{own}\n\n\n{'_' * 32}\n{rows}\n \n\n{d.theirs}\n")


def thunderbird_forward(d: Draft, own: str) -> Bodies:
    """Thunderbird: a table of headers, the subject first."""
    rows = [(_label(d, 3), "Re: plan"), (d.line("date"), _rfc_date(d))]
    rows += [(_label(d, 0), f"{d.who} <{d.mail}>"), (_label(d, 2), "sam@example.org")]
    bar = f"-------- {d.line('forward')} --------"
    plain = "\n".join(f"{k.strip()}: \t{v}" for k, v in rows)
    cells = "".join(
        f"<tr><th align='RIGHT'>{k}: </th><td>{escape(v)}</td></tr>" for k, v in rows
    )
    html = (
        f'<html><body><p>{breaks(own)}</p><div class="moz-forward-container"><br><br>'
        f'{bar}<table class="moz-email-headers-table"><tbody>{cells}</tbody></table>'
        f"<br>{breaks(d.theirs)}</div></body></html>"
    )
    return f"{own}\n\n\n{bar}\n{plain}\n\n\n\n{d.theirs}\n", html


def outlook_new(d: Draft, own: str) -> Bodies:
    """Outlook of 2019 on a Mac: date in place of sent, copies, no rule above."""
    rows = [(_label(d, 0), f"{d.who} <{d.mail}>"), (d.line("date"), d.line("sent"))]
    rows += [(_label(d, 2), f"{d.name} <sam@example.org>, Kim <kim@example.org>")]
    rows += [("Cc", "board@example.org"), (_label(d, 3), "Re: plan")]
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    return in_both(f"{own}\n\n{plain}\n\n{d.theirs}\n")


def outlook_mac_reply(d: Draft, own: str) -> Bodies:
    """Outlook on a Mac: a line that introduces, and indented text without a mark."""
    indented = "\n".join(f"    {x}".rstrip() for x in d.theirs.split("\n"))
    return in_both(f"{own}\n\n{d.line('apple')}\n\n{indented}\n")


def starred(d: Draft, own: str) -> Bodies:
    """A block whose bold words became stars, its lines broken."""
    rows = list(d.headers())
    rows[0] = (rows[0][0], f"{d.who} [mailto:{d.mail}]")
    rows[2] = (rows[2][0], "Sam; Kim Aster; Lee Bright; office@example.org; Board of")
    plain = "\n".join(f"*{k.strip()}:* {v}" for k, v in rows[:3])
    plain += f"\nDirectors; plans@example.org\n*{rows[3][0].strip()}:* {rows[3][1]}"
    return in_both(f"{own}\n\n \n\n{plain}\n\n \n\n{d.theirs}\n")


def _rfc_date(d: Draft) -> str:
    return f"Tue, {d.day} Mar {d.year} {d.time}:09 +0100"


def gmail_folded(d: Draft, own: str) -> Bodies:
    """Gmail's introduction broken at any width."""
    intro = _folded(d.line("gmail"), _width(d))
    return in_both(f"{own}\n\n{intro}\n\n{quoted(d.theirs)}\n")


def apple_folded(d: Draft, own: str) -> Bodies:
    """Apple's introduction, quoted, or broken in front of the quote."""
    intro = _folded(d.line("apple"), _width(d))
    return in_both(f"{own}\n\n{intro}\n\n{quoted(d.theirs)}\n")


def unmarked_folded(d: Draft, own: str) -> Bodies:
    """A broken introduction above a text without marks, as web mails leave it."""
    intro = _folded(d.line("gmail"), _width(d))
    return in_both(f"{own}\n\n{intro}\n\n{d.theirs}\n")


def apple_forward(d: Draft, own: str) -> Bodies:
    """Apple Mail: the line above is not quoted, the rest is."""
    rows = [(_label(d, 0), f"{d.who} <{d.mail}>"), (_label(d, 3), "plan")]
    rows += [(d.line("date"), d.line("sent")), (_label(d, 2), "sam@example.org")]
    head = "\n".join(f"> {k}: {v}" for k, v in rows)
    return in_both(f"{own}\n\n{d.line('begin')}\n\n{head}\n> \n{quoted(d.theirs)}\n")


def mailmate(d: Draft, own: str) -> Bodies:
    """MailMate's forward; a long line lost its mark."""
    lines = quoted(d.theirs).split("\n")
    first = next((i for i, x in enumerate(lines[3:], 3) if len(x) > 30), 2)
    lines[first] = lines[first].replace(" ", "\n", 6).replace("\n", " ", 5).lstrip("> ")
    rows = [("From", f"{d.who} <{d.mail}>"), ("To", "sam@example.org")]
    rows += [("Subject", "plan"), ("Date", _rfc_date(d))]
    head = "\n".join(f"> {k}: {v}" for k, v in rows)
    body = "\n".join(lines[:first]) + "\n" + lines[first] + "\n"
    body += "\n".join(lines[first + 1 :]) or "> "
    return in_both(f"{own}\n\nForwarded message:\n\n{head}\n>\n{body}\n>\n> Bye\n")


def polymail(d: Draft, own: str) -> Bodies:
    """Polymail: an address inside an address."""
    intro = (
        f"On Tue, Mar {d.day}, {d.year} at {d.time} AM {d.who} "
        f"< mailto:{d.who} <{d.mail}> > wrote:"
    )
    return in_both(
        f"{own}\n\n{_folded(intro, _width(d) + 16)}\n\n{quoted(d.theirs)}\n",
    )


def superhuman(d: Draft, own: str) -> Bodies:
    """Superhuman: its own link, and blanks inside the brackets."""
    intro = f"On Tue, Mar {d.day}, {d.year} at {d.time} AM, {d.who} < {d.mail} > wrote:"
    tag = f"Sent via Superhuman ( https://sprh.mn/?vip={d.mail} )"
    return in_both(f"{own}\n\n{tag}\n\n{intro}\n\n{quoted(d.theirs)}\n")


def typeapp(d: Draft, own: str) -> Bodies:
    """TypeApp and Blue Mail: invisible signs around the tagline."""
    app = "TypeApp" if d.day % 2 else "BlueMail"
    tag = f"\u2063Get {app} for Android \u200b"
    intro = (
        f"On Mar {d.day}, {d.year}, {d.time}, at {d.time}, {d.who} <{d.mail}> wrote:"
    )
    return in_both(f"{own}\n\n{tag}\n\n{intro}\n{quoted(d.theirs, '>')}\n")


def proton_old(d: Draft, own: str) -> Bodies:
    """Proton Mail of some years ago: a bar of hyphens that are none of ASCII."""
    bar = "\u2010" * 7
    intro = (
        f"On Tuesday, March {d.day}, {d.year} {d.time} AM, {d.who} <{d.mail}> wrote:"
    )
    tag = "Sent with ProtonMail Secure Email."
    return in_both(
        f"{own}\n\n{tag}\n\n{bar} Original Message {bar}\n{intro}\n\n"
        f"{quoted(d.theirs)}\n",
    )


def proton_forward(d: Draft, own: str) -> Bodies:
    """Proton Mail: the headers of a forward."""
    return in_both(
        f"{own}\n\nSent with Proton Mail secure email.\n\n"
        f"------- Forwarded Message -------\nFrom: {d.who} <{d.mail}>\n"
        f"Date: On Tuesday, March {d.day}th, {d.year} at {d.time} AM\n"
        f"Subject: plan\nTo: Sam <sam@example.org>\n\n\n{quoted(d.theirs)}\n",
    )


def fastmail(d: Draft, own: str) -> Bodies:
    """Fastmail."""
    intro = f"On Tue, {d.day} Mar {d.year}, at {d.time} AM, {d.who} wrote:"
    return in_both(f"{own}\n\n{intro}\n{quoted(d.theirs)}\n")


def fastmail_forward(d: Draft, own: str) -> Bodies:
    """Fastmail, passing a message on."""
    return in_both(
        f"{own}\n\n----- Original message -----\nFrom: {d.who} <{d.mail}>\n"
        f"To: sam@example.org\nSubject: plan\nDate: Tuesday, {d.day} March {d.year} "
        f"{d.time} AM\n\n{d.theirs}\n",
    )


def hey(d: Draft, own: str) -> Bodies:
    """Hey."""
    intro = f"On March {d.day}, {d.year}, {d.who} <{d.mail}> wrote:"
    return in_both(f"{own}\n\n{intro}\n{quoted(d.theirs)}\n")


def windows_mail(d: Draft, own: str) -> Bodies:
    """Windows Mail: the tagline above a block of headers."""
    rows = list(d.headers())
    rows[0] = (rows[0][0], f"{d.who}<mailto:{d.mail}>")
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    tag = "Sent from Mail<https://go.microsoft.com/fwlink/?LinkId=550986> for Windows"
    return in_both(f"{own}\n\n{tag}\n\n{plain}\n\n{d.theirs}\n")


def exchange(d: Draft, own: str) -> Bodies:
    """Outlook Web Access of Exchange: square brackets."""
    rows = list(d.headers())
    rows[0] = (rows[0][0], f"{d.who} [{d.mail}]")
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    return in_both(f"{own}\n{'_' * 40}\n{plain}\n\n{d.theirs}\n")


def blackberry(d: Draft, own: str) -> Bodies:
    """BlackBerry 10: blanks in place of dashes."""
    tag = "Sent from my BlackBerry 10 smartphone on the Northern Wireless network."
    rows = "\n".join(f"{k}: {v}" for k, v in d.headers())
    return in_both(
        f"{own}\n\n{tag}\n  Original Message  \n{rows}\n\n{d.theirs}\n",
    )


def blackberry_old(d: Draft, own: str) -> Bodies:
    """BlackBerry of twenty years ago."""
    tag = "Sent via BlackBerry from Northern Wireless"
    return in_both(
        f"{own}\n{tag}\n\n-----Original Message-----\nFrom: {d.who} <{d.mail}>\n"
        f"Date: {_rfc_date(d)} \nTo: <sam@example.org>\nSubject: plan\n\n{d.theirs}\n",
    )


def notes_forward(d: Draft, own: str) -> Bodies:
    """Lotus Notes: a bar with a date, broken, and headers that say little."""
    date = f"03/{d.day}/{d.year}"
    cut = " \n" if d.day % 2 else " "
    bar = (
        f"---------------------- Forwarded by {d.name}/HQ/Lumen on {date}{cut}"
        f"{d.time} AM ---------------------------"
    )
    heads = (
        f"{d.who}@LUMEN\n{date} {d.time} AM\nTo: {d.name}/HQ/Lumen@LUMEN\ncc:  \n"
        "Subject: Re: plan",
        f"\tLumen & Oak GmbH\n\t\n\tFrom:  {d.who}                           {date} "
        f"{d.time} AM\n\t\n\nTo: {d.name}/HQ/Lumen@LUMEN\ncc:  \nSubject: plan",
        f"{d.mail} on {date} {d.time}:09 AM\nTo: {d.name}/HQ/Lumen@LUMEN\ncc:  \n"
        "Subject: Re: plan",
    )
    return in_both(f"{own}\n{bar}\n\n\n{heads[d.day % 3]}\n\n{d.theirs}\n")


def notes_reply(d: Draft, own: str) -> Bodies:
    """Lotus Notes: the name of the other, a date, and the headers below."""
    date = f"03/{d.day}/{d.year}"
    heads = (
        f"{d.who}@LUMEN\n{date} {d.time} AM\nTo:\t{d.name}/HQ/Lumen@LUMEN\ncc:\t \n"
        "Subject:\tRe: plan",
        f'"{d.who}" <{d.mail}> on {date} {d.time}:09 AM\nTo:\t<sam@example.org>\n'
        "cc:\t \nSubject:\tRe: plan",
        f"\t{d.who}\n\t{date} {d.time} AM\n\t\t\n\t\t To: {d.name}/HQ/Lumen@LUMEN\n"
        "\t\t cc: \n\t\t Subject: Re: plan",
        f"From:\t{d.who} on {date} {d.time} AM\nTo:\t{d.name}/HQ/Lumen@LUMEN\ncc:\t \n"
        "Subject:\tRe: plan",
        f"{d.who}\n{date} {d.time} AM\nPlease respond to {d.who} <{d.mail}>\n"
        f"To: sam@example.org\ncc: \nSubject: Re: plan",
    )
    return in_both(f"{own}\n\n\n\n\n{heads[d.day % 5]}\n\n{d.theirs}\n")


def mail_ru(d: Draft, own: str) -> Bodies:
    """Mail.ru: a date, 'from', an address."""
    intro = f"Вторник, {d.day} марта {d.year}, {d.time} +03:00 от {d.who} <{d.mail}>:"
    return in_both(f"{own}\n\n\n>{intro}\n>\n{quoted(d.theirs, '>')}\n")


def samsung_local(d: Draft, own: str) -> Bodies:
    """Samsung in the language of its user."""
    rows = [
        (_label(d, 0), f"{d.who} <{d.mail}> "),
        (d.line("date"), f"{d.day}.03.{d.year}  {d.time}  (GMT+01:00) "),
    ]
    rows += [(_label(d, 2), "sam@example.org "), (_label(d, 3), "Re: plan ")]
    plain = "\n".join(f"{k}: {v}" for k, v in rows)
    return in_both(
        f"{own}\n\n\n{d.line('phone')}\n\n\n-------- {d.line('original')} --------\n"
        f"{plain}\n\n{d.theirs}\n",
    )


def zimbra_local(d: Draft, own: str) -> Bodies:
    """Zimbra in the language of its user."""
    rows = d.headers()
    ordered = (rows[0], rows[2], rows[1], rows[3])
    plain = "\n".join(f"{k}: {v}" for k, v in ordered)
    return in_both(
        f"{own}\n\n----- {d.line('original')} -----\n{plain}\n\n{d.theirs}\n"
    )


def spark_forward(d: Draft, own: str) -> Bodies:
    """Spark, passing a message on."""
    return in_both(
        f"{own}\n\nSent with Spark\n\n---------- Forwarded message ----------\n"
        f"From: {d.who} <{d.mail}>\nOn {d.day} Mar {d.year} at {d.time} +0100\n"
        f"To: Sam <sam@example.org>\nSubject: plan\n\n{quoted(d.theirs)}\n",
    )


def _shape_of(template: str) -> Callable[[Draft, str], Bodies]:
    def shape(d: Draft, own: str) -> Bodies:
        lines = d.theirs.split("\n")
        body = template.format(
            own=own,
            theirs=d.theirs,
            quoted=quoted(d.theirs),
            marked=quoted(d.theirs, ">"),
            initial="\n".join(f"A> {line}" if line else "" for line in lines),
            indented="\n".join(f"  {line}" if line else "" for line in lines),
            who=d.who,
            mail=d.mail,
            name=d.name,
            t=d.time,
            d=d.day,
            y=d.year,
            yy=f"{d.year % 100:02}",
        )
        return in_both(body)

    return shape


TEMPLATES: dict[str, tuple[str, Callable[[Draft, str], Bodies]]] = {
    name: (entry.get("position", "top"), _shape_of(entry["plain"]))
    for name, entry in tomllib.loads(
        Path(__file__).with_name("programs.toml").read_text("utf-8")
    ).items()
}
"""By program: where the own words stand, and the function."""


SHAPES: dict[str, tuple[str, Shape]] = {
    "gmail": ("top", gmail),
    "gmail-old": ("top", gmail_old),
    "apple": ("top", apple),
    "iphone": ("top", iphone),
    "thunderbird": ("top", thunderbird),
    "thunderbird-below": ("bottom", thunderbird_below),
    "inline": ("inline", inline),
    "outlook": ("top", outlook),
    "outlook-bar": ("top", outlook_bar),
    "owa": ("top", owa),
    "outlook-phone": ("top", outlook_phone),
    "yahoo": ("top", yahoo),
    "proton": ("top", proton),
    "zoho": ("top", zoho),
    "zimbra": ("top", zimbra),
    "gmx": ("top", gmx),
    "samsung": ("top", samsung),
    "yandex": ("top", yandex),
    "qq": ("top", qq),
    "notes": ("top", notes),
    "roundcube": ("top", roundcube),
    "spark": ("top", spark),
    "em-client": ("top", em_client),
    "forward-gmail": ("forward", forward_gmail),
    "forward-apple": ("forward", forward_apple),
    "forward-apple-old": ("forward", forward_apple_unmarked),
    "yahoo-forward": ("forward", yahoo_forward),
    "yahoo-reply": ("top", yahoo_reply),
    "yahoo-phone": ("top", yahoo_phone),
    "yahoo-classic": ("top", yahoo_classic),
    "yahoo-rule": ("top", yahoo_rule),
    "thunderbird-forward": ("forward", thunderbird_forward),
    "outlook-new": ("forward", outlook_new),
    "outlook-mac": ("top", outlook_mac_reply),
    "outlook-stars": ("top", starred),
    "gmail-folded": ("top", gmail_folded),
    "apple-folded": ("top", apple_folded),
    "unmarked-folded": ("top", unmarked_folded),
    "apple-forward": ("forward", apple_forward),
    "mailmate": ("forward", mailmate),
    "polymail": ("top", polymail),
    "superhuman": ("top", superhuman),
    "typeapp": ("top", typeapp),
    "proton-old": ("top", proton_old),
    "proton-forward": ("forward", proton_forward),
    "fastmail": ("top", fastmail),
    "fastmail-forward": ("forward", fastmail_forward),
    "hey": ("top", hey),
    "windows-mail": ("top", windows_mail),
    "exchange": ("top", exchange),
    "blackberry": ("top", blackberry),
    "blackberry-old": ("top", blackberry_old),
    "notes-forward": ("forward", notes_forward),
    "notes-reply": ("top", notes_reply),
    "mail-ru": ("top", mail_ru),
    "samsung-local": ("top", samsung_local),
    "zimbra-local": ("top", zimbra_local),
    "spark-forward": ("forward", spark_forward),
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
