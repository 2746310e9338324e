"""Mail programs that run lines together, break them anywhere, or mark nothing.

Like mail_shapes, but of the programs that trouble those who read their mails: headers
in one line, dates broken over lines, forwards without a mark, taglines above a quote.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from textwrap import wrap

from benchmarks.mail.pieces import Bodies, breaks, divs, in_both, quoted
from benchmarks.mail.texts import Draft


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


PROGRAMS: dict[str, tuple[str, Callable[[Draft, str], Bodies]]] = {
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
}
"""By program: where the own words stand, and the function."""
