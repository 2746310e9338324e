"""A text in the form that another program takes: a mail, a link to one, Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from urllib.parse import quote

from decoding_core.foreign_text import one_line
from edge_app.decoding.events import Source
from edge_app.retrieval.naming import parted
from edge_app.tui.journal.style import MOST_STARS
from edge_app.tui.words.sources_text import address, sender, subject
from models.prompts import Request
from personal_store.search.ranking import is_to

SUFFIXES = (".txt", ".md", ".eml")
"""Of the files that a text can be saved as; any other name is plain text."""
_MARKS = re.compile(r"([\\`*_{}<>#])")
_IDENTIFIER = re.compile(r"[!-;=?A-~]{1,200}@[!-;=?A-~]{1,200}")
"""Of a mail, without the angles around it: it came from others, and ends no header."""
_LONGEST_SUBJECT, _LONGEST_BEGINNING, _LONGEST_GREETING = 78, 50, 40
_LONGEST_LINE, _LONGEST_THREAD = 998, 900
"""Characters of a line of a mail, and of the identifiers in one."""
LONGEST_LINK = 8_000
"""Characters of a link: mail programs and systems take little more."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A text with what is known of it."""

    text: str
    brief: Request
    answers: Source | None = None
    stars: int = 0
    references: tuple[str, ...] = ()
    """Identifiers of the answered mail, the last, and of those that it answers."""
    people: tuple[str, ...] = ()
    """Who can be written to, as `Name <address>`."""
    own_address: str = ""
    """Whom it is from."""

    @property
    def whom(self) -> str:
        """The address it goes to; empty where none is known, or several are."""
        name, typed = parted(self.brief.recipient)
        if typed:
            return typed
        answered = "" if self.answers is None else address(self.answers)
        if self.answers is not None and is_to(name, sender(self.answers), answered):
            return answered
        known = {
            found
            for whom, found in map(parted, self.people)
            if found and is_to(name, whom, found)
        }
        return known.pop() if len(known) == 1 else answered

    @property
    def about(self) -> str:
        """The subject of the answered letter; empty where none is answered."""
        if self.answers is None:
            return ""
        title = one_line(subject(self.answers)).strip()
        told = title if re.match(r"(?i)re\s*:", title) else f"Re: {title}"
        return told[:_LONGEST_SUBJECT]

    def as_file(self, suffix: str) -> str:
        """What a file of this kind holds."""
        match suffix.casefold():
            case ".eml":
                return self._mail()
            case ".md":
                return self._markdown()
            case _:
                return self.text

    def link(self) -> str:
        """A mailto: link as RFC 6068 has it; raises ValueError for a text that is too
        long for one."""
        body = self.text.replace("\r\n", "\n").replace("\n", "\r\n")
        fields = {"subject": self.about, "body": body}
        asked = "&".join(f"{k}={_quoted(v)}" for k, v in fields.items() if v)
        link = f"mailto:{quote(self.whom, safe='@')}?{asked}"
        if len(link) > LONGEST_LINK:
            raise ValueError("the text is too long for a link; save it as .eml")
        return link

    def _mail(self) -> str:
        """A mail that was not sent, which a mail program opens to be sent."""
        mail = EmailMessage(policy=SMTP.clone(utf8=False))
        for name, known in (("From", self.own_address), ("To", self.whom)):
            if known and known.isascii() and parted(known)[1] == known:
                mail[name] = known
        # The request is for the person's own eyes, and names no mail.
        if subject_line := self.about or self._beginning():
            mail["Subject"] = subject_line
        mail["X-Unsent"] = "1"
        if self.answers is not None and self.references:
            answered = self.references[-1]
            if _IDENTIFIER.fullmatch(answered):  # else it names no mail
                mail["In-Reply-To"] = f"<{answered}>"
                mail["References"] = self._thread()
        text = self.text.encode("utf-8", "replace").decode()
        mail.set_content(text, cte="quoted-printable")
        # Folded at the usual length, an identifier would be encoded, and name nothing.
        wide = mail.policy.clone(max_line_length=_LONGEST_LINE)
        return mail.as_bytes(policy=wide).decode("ascii").replace("\r\n", "\n")

    def _beginning(self) -> str:
        """The first sentence below the greeting, or as many words of it as a subject
        holds; empty for a text without any."""
        lines = [one_line(line).strip() for line in self.text.strip().splitlines()]
        if len(lines) > 1 and len(lines[0]) <= _LONGEST_GREETING:
            lines = lines[1:]
        first = next(filter(None, lines), "")
        words = re.split(r"(?<=[^\s.].)[.!?;:…](?=\s|$)", first, maxsplit=1)[0]
        if len(words) > _LONGEST_BEGINNING:
            words = words[:_LONGEST_BEGINNING].rpartition(" ")[0] or words
        return words[:_LONGEST_SUBJECT].rstrip(" ,-–—")

    def _thread(self) -> str:
        """The identifiers that a References header holds: where not all have room, the
        first, which names the thread, and the last."""
        known = [one for one in self.references if _IDENTIFIER.fullmatch(one)]
        known = list(dict.fromkeys(known))
        while len(known) > 1 and sum(len(one) + 3 for one in known) > _LONGEST_THREAD:
            del known[min(1, len(known) - 2)]
        return " ".join(f"<{one}>" for one in known)

    def _markdown(self) -> str:
        """The text below a heading where it has a name: that of the product, of a post
        or of a note; a mail has none."""
        name = one_line(self.brief.recipient)
        if self.brief.task == "email" or not name:
            return self.text
        heading = "# " + _MARKS.sub(r"\\\1", name) + "\n\n"
        if self.stars and self.brief.task == "review":
            heading += "★" * self.stars + "☆" * (MOST_STARS - self.stars) + "\n\n"
        return heading + self.text


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")
