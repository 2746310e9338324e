"""Mail programs that put a block of headers above the words of others."""

from __future__ import annotations

from html import escape

from benchmarks.mail.pieces import Bodies, breaks, divs, quoted, word_paragraphs
from benchmarks.mail.texts import Draft


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
