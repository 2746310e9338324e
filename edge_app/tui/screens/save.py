"""Where to save the text, in which form, and with a report on who wrote it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, urlencode

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from decoding_core.foreign_text import legible, one_line
from edge_app.decoding.events import Source
from edge_app.retrieval.naming import parted
from edge_app.tui.letters import address, sender, subject
from edge_app.tui.saving import FileState, PathError, TakenError, free, save, typed_path
from edge_app.tui.screens.brief import STARS
from edge_app.tui.screens.drawer import Box
from edge_app.tui.screens.widgets import PathInput
from edge_app.tui.text import Run, State, count_words, counted
from edge_app.tui.variant import Variant
from edge_app.tui.writing import Writing
from models.prompts import Request, with_article
from personal_store.text.greetings import is_to

_REPORT = ".authorship.txt"


class SaveDialog(ModalScreen[Path]):
    """Asks for a file name; a second enter overwrites the file that was asked about."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", show=False),
        Binding("f3,alt+f", "form", show=False, priority=True),
        Binding("f4,alt+w", "report", show=False, priority=True),
    ]

    def __init__(self, path: Path, piece: Piece, variant: Variant) -> None:
        super().__init__()
        self._path, self._piece, self._variant = path, piece, variant
        self._reports = False
        self._asked: FileState | None = None

    def compose(self) -> ComposeResult:
        """A field for the path, who wrote the text, and a line for the problem."""
        foot = "enter saves · F3 .txt .md .eml · esc closes"
        with Box(title="Save the text", foot=foot):
            yield PathInput(str(self._path))
            yield Static(shares(self._variant.runs()), id="who", markup=False)
            yield Static(id="beside", markup=False)
            yield Static(id="problem", markup=False)

    def on_mount(self) -> None:
        """The cursor waits behind the name."""
        self.query_one(Input).focus()
        self._say()

    def action_form(self) -> None:
        """Save it in the next form: the suffix says which."""
        field = self.query_one(Input)
        stem, dot, suffix = field.value.rpartition(".")
        known = f".{suffix}".casefold() if dot else ""
        if known not in SUFFIXES:
            stem, known = field.value, SUFFIXES[-1]
        field.value = stem + SUFFIXES[(SUFFIXES.index(known) + 1) % len(SUFFIXES)]
        field.cursor_position = len(field.value)

    def action_report(self) -> None:
        """Write the report beside the file, or not."""
        self._reports = not self._reports
        self._say()

    def _say(self) -> None:
        mark = "x" if self._reports else " "
        said = f"[{mark}] F4 writes this in a file beside it"
        self.query_one("#beside", Static).update(said)

    @on(Input.Submitted)
    def _save(self, event: Input.Submitted) -> None:
        try:
            path = typed_path(event.value)
            if event.value.rstrip().endswith("/"):
                raise PathError("this is a folder; add the name of a file")
            text = self._piece.as_file(path.suffix)
            saved = save(path, text, instead_of=self._asked)
            if self._reports:
                beside = free(saved.with_name(saved.name + _REPORT))
                save(beside, report(self._variant, text))
        except PathError as error:
            if isinstance(error, TakenError):
                self._asked = error.found
            self._complain(str(error))
        else:
            self.dismiss(saved)

    @on(Input.Changed)
    def _think_again(self) -> None:
        """A changed path withdraws the permission to overwrite."""
        self._asked = None
        self._complain("")

    def _complain(self, problem: str) -> None:
        self.query_one("#problem", Static).update(legible(problem))


SUFFIXES = (".txt", ".md", ".eml")
"""Of the files that a text can be saved as; any other name is plain text."""
_MARKS = re.compile(r"([\\`*_{}<>#])")
_IDENTIFIER = re.compile(r"[!-;=?A-~]{1,200}@[!-;=?A-~]{1,200}")
"""Of a mail, without the angles around it: it came from others, and ends no header."""
_LONGEST_SUBJECT, _LONGEST_BEGINNING, _LONGEST_GREETING = 78, 50, 40
_LONGEST_LINE, _LONGEST_THREAD = 998, 900
"""Characters of a line of a mail, and of the identifiers in one."""
LONGEST_LINK = 8_000  # characters of a link: mail programs and systems take little more


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
    own_address: str = ""

    @classmethod
    def of(cls, writing: Writing, variant: Variant) -> Piece:
        """A version of the draft on screen."""
        letter = writing.reply_to
        number = 0 if letter is None else letter.record_id
        references, answered_from = writing.threads.get(number, ((), ""))
        return cls(
            variant.text,
            variant.request.brief,
            letter,
            writing.style.stars,
            references,
            writing.people,
            answered_from or writing.own_address,
        )

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
        """A mailto: link (RFC 6068); raises ValueError if the text is too long for
        one."""
        body = self.text.replace("\r\n", "\n").replace("\n", "\r\n")
        fields = {"subject": self.about, "body": body}
        given = {name: value for name, value in fields.items() if value}
        asked = urlencode(given, quote_via=quote, errors="replace")
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
        """The first sentence below the greeting, cut to what a subject holds."""
        lines = [one_line(line).strip() for line in self.text.strip().splitlines()]
        if len(lines) > 1 and len(lines[0]) <= _LONGEST_GREETING:
            lines = lines[1:]
        first = next(filter(None, lines), "")
        words = re.split(r"(?<=[^\s.].)[.!?;:…](?=\s|$)", first, maxsplit=1)[0]
        if len(words) > _LONGEST_BEGINNING:
            words = words[:_LONGEST_BEGINNING].rpartition(" ")[0] or words
        return words[:_LONGEST_SUBJECT].rstrip(" ,-–—")

    def _thread(self) -> str:
        """The identifiers that a References header holds."""
        known = [one for one in self.references if _IDENTIFIER.fullmatch(one)]
        known = list(dict.fromkeys(known))
        while len(known) > 1 and sum(len(one) + 3 for one in known) > _LONGEST_THREAD:
            del known[min(1, len(known) - 2)]
        return " ".join(f"<{one}>" for one in known)

    def _markdown(self) -> str:
        """The text below a heading where it has a name."""
        name = one_line(self.brief.recipient)
        if self.brief.task == "email" or not name:
            return self.text
        heading = "# " + _MARKS.sub(r"\\\1", name) + "\n\n"
        if self.stars and self.brief.task == "review":
            heading += STARS[self.stars] + "\n\n"
        return heading + self.text


_PARTS: tuple[tuple[State, str], ...] = (
    ("kept", "drafted on this device"),
    ("replaced", "redrawn after the checker refused another"),
    ("typed", "typed by you"),
    ("pasted", "pasted by you"),
)


def shares(runs: Sequence[Run]) -> str:
    """One line, such as `53 words: 41 drafted on this device, 12 typed by you`."""
    counts = count_words(runs)
    total = sum(counts.values())
    parts = [f"{counts[name]} {words}" for name, words in _PARTS if counts[name]]
    return f"{counted(total, 'word')}: {', '.join(parts)}"


def report(variant: Variant, text: str) -> str:
    """The report that is kept beside `text`, as it lies in the file."""
    runs = variant.runs()
    counts = count_words(runs)
    total = max(1, sum(counts.values()))
    brief = variant.request.brief
    whom = one_line(brief.recipient)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    lines = [
        f"Authorship of {with_article(brief.task)}{f' for {whom}' if whom else ''}",
        "",
        *(
            f"{counts[name]:6} words {100 * counts[name] / total:5.1f} %  {words}"
            for name, words in _PARTS
        ),
        f"{sum(counts.values()):6} words in all",
        "",
        "A word that has letters of two origins counts as typed before pasted, pasted",
        "before redrawn, and redrawn before drafted.",
        f"Method: {variant.request.settings.method}"
        f"{', on the device alone' if variant.request.offline else ''}. "
        f"Own texts read: {len(variant.sources)}.",
        f"SHA-256 of the text: {digest}",
    ]
    return "\n".join(lines) + "\n"
