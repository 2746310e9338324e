"""Why this word: its origin, what the models thought, and which letter it follows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate
from typing import ClassVar

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from decoding_core.foreign_text import legible, one_line
from edge_app.decoding.events import Choice, Place, Source
from edge_app.tui.letters import COMMON, date, subject
from edge_app.tui.screens.cards import whose
from edge_app.tui.screens.drawer import TextDrawer
from edge_app.tui.screens.editor import DraftEditor
from edge_app.tui.text import WORD, Run, State, alike, words_of
from edge_app.tui.variant import Variant
from edge_app.tui.writing import Writing

_LONGEST = 16
_THE_END = "(the end)"
_STRANGE = "Not from you: no request, thread or letter that was read has it.\n"


class WhyDrawer(TextDrawer):
    """Tells of one word of the version on screen; ← and → go to the ones beside it."""

    NAME = "why"
    BESIDE = True
    TITLE = "Why this word"
    FOOT = "← → words · enter breaks the line · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "other(-1)", "Earlier", show=False),
        Binding("right", "other(1)", "Later", show=False),
        Binding("enter", "break_line", "Break the line", show=False),
    ]

    def __init__(self, writing: Writing, editor: DraftEditor) -> None:
        """`editor` shows which word is meant."""
        super().__init__(writing)
        self._editor = editor
        variant = writing.variant
        self._words = words_of_version(variant) if variant is not None else []
        self._letter = editor.selected_letters()[1] if editor.editing else None
        self._at = word_at(self._words, self._letter)
        self._reading_back = -1

    def action_other(self, step: int) -> None:
        """Explain the word `step` places on."""
        if self._at is not None:
            self._at = max(0, min(self._at + step, len(self._words) - 1))
            self._letter = self._words[self._at].start
            self._show()

    def action_break_line(self) -> None:
        """Break the line at the word, as Enter does everywhere else in a text."""
        if self.is_current:
            if self._letter is not None and self._editor.editing:
                self._editor.put(self._letter, 0, [("\n", "typed")])
            self.dismiss()

    def advance(self) -> None:
        """Show the word, and again when its letters have been read."""
        if self._reading_back != self.writing.reading_back:
            self._reading_back = self.writing.reading_back
            self._show()

    def _show(self) -> None:
        variant = self.writing.variant
        if variant is None or self._at is None:
            self.say("There is no word yet.", "#text")
            return
        word = self._words[self._at]
        if self._editor.editing:
            self._editor.select_letters(word.start, word.end)
        parts: list[Text | Table] = [Text(one_line(word.text), "bold")]
        parts.append(Text(f"\n{origin(variant, word)}\n"))
        report = self.writing.report()
        strange = report.invented if report else ()
        if any(f.span[0] < word.end and word.start < f.span[1] for f in strange):
            parts.append(Text(_STRANGE, "bold"))
        for at in word.tokens:
            place = variant.weighed.get(at)
            if place is not None:
                parts += table(variant, at, place, whole=len(word.tokens) == 1)
        if word.state != "typed":
            parts.append(self._follows(variant, word))
        if report and (said := report.in_words(answered=True)):
            parts.append(Text("\nFacts of this draft", "bold"))
            parts += [Text(legible(line)) for line in said]
        self.say(Group(*parts), "#text")
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def _follows(self, variant: Variant, word: Word) -> Text:
        sources = tuple(one for one in variant.sources if one.excerpt)
        if self.writing.reading_back and len(sources) < len(variant.sources):
            return Text("\nlooking into the letters that were read…", "dim")
        if not variant.sources:
            return Text("\nNo letter was read for this draft.", "dim")
        if not sources:
            return Text("\nThe letters that were read are no longer there.", "dim")
        found = followed(variant.text, word.start, sources)
        if found is None:
            name = whose(self.writing)
            return Text(f"\nIt stands in none of {name} that were read.", "dim")
        source, before, run, behind = found
        title = ", ".join(filter(None, (subject(source), date(source))))
        return Text.assemble(
            *("\nIt follows ", (title, "bold"), "\n", (_flat(before), "dim")),
            *((_flat(run), "underline"), (_flat(behind), "dim")),
        )


def origin(variant: Variant, word: Word) -> str:
    """Where a word came from, as a sentence."""
    if word.state == "typed":
        return "You typed it, or a part of it. No model was asked."
    if not word.tokens:
        return "It was drafted, and stands elsewhere or otherwise now."
    if word.state == "held":
        held = next(filter(None, map(variant.held_at, word.tokens)), None)
        if held is not None:
            return legible(
                f"Drafted on this device and held back ({held.kind}: {held.reason}). "
                f"The checker read “{one_line(held.stand_in)}” in its place."
            )
    origins = {variant.settled[at].origin for at in word.tokens}
    if "recovered" in origins:
        places = (variant.weighed.get(at) for at in word.tokens)
        gone = next((p.choices[1].text for p in places if p and p.refused), "")
        was = (
            f"“{one_line(gone).strip()}” was drafted" if gone.strip() else "Another was"
        )
        return (
            f"Redrawn: {was}, the checker refused it, and this one was drawn from what "
            "both models thought."
        )
    if "bonus" in origins:
        return "Added: drawn with the checker behind words that it kept."
    if origins == {"local"}:
        return "Drafted on this device; no checker was asked."
    return "Drafted on this device, and kept by the checker."


def table(
    variant: Variant, at: int, place: Place, *, whole: bool
) -> list[Text | Table]:
    """What the models thought of a token: a row per choice, a column per model."""
    token = variant.settled[at]
    columns = [("with", "specialist"), ("without", "base"), ("checker", "generalist")]
    given = [
        (head, model)
        for head, model in columns
        if any(getattr(choice, model) is not None for choice in place.choices)
    ]
    kept = token.origin == "accepted" and ("checker", "generalist") not in given
    if kept:
        given.append(("checker", ""))
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    made.add_column(
        "" if whole else f"“{one_line(token.text)}”", max_width=_LONGEST + 2
    )
    for head, _ in given:
        made.add_column(head, justify="right")
    for number, choice in enumerate(place.choices):
        look = "bold" if number == 0 else ""
        look = "strike" if number == 1 and place.refused else look
        numbers = [
            Text(_share(getattr(choice, model)) if model else "kept" * (not number))
            for _, model in given
        ]
        made.add_row(Text(_name(choice), look), *numbers)
    heads = [head for head, _ in given]
    notes = []
    if "with" in heads:
        letters = "the sample letters" if variant.samples else "your letters"
        without = " with and without" if "without" in heads else " with"
        notes.append(f"the small model{without} {letters}")
    if kept:
        notes.append("of what it keeps the checker gives no numbers")
    return [made, Text(f"{'; '.join(notes)}\n", "dim")]


def _name(choice: Choice) -> str:
    text = legible(choice.text).replace("\n", "↵").strip(" ")
    if not text:
        text = "(space)" if choice.text else _THE_END
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _share(chance: float | None) -> str:
    """A probability in a few columns."""
    if chance is None:
        return "–"
    if chance < 0.001:
        return "<0.1 %"
    return f"{100 * chance:.{1 if chance < 0.1 else 0}f} %"


def _flat(text: str) -> str:
    """A stretch of a letter as one line, its ends kept."""
    return legible(" ".join(f"x{text}x".split()))[1:-1]


_MANY = 2000
"""Words from which on those that stand everywhere are passed over in comparing."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the text as it stands."""

    start: int  # letters of the text before it
    text: str
    state: State
    tokens: tuple[int, ...] = ()  # places of the settled tokens that it was drafted as

    @property
    def end(self) -> int:
        """Letters of the text up to its end."""
        return self.start + len(self.text)


def words_of_version(variant: Variant) -> list[Word]:
    """All words of a version, each with the tokens that it was drafted as."""
    drafted, standing = _words(variant.drafted()), _words(variant.runs())
    # What it goes on from, or is put back behind it, was no part of its writing.
    begin = sum(len(text) for text, _ in variant.before)
    count = len(variant.settled)
    lengths = (len(token.text) for token in variant.settled)
    starts = list(accumulate(lengths, initial=begin))
    matcher = SequenceMatcher(
        None,
        [word.text for word in standing],
        [word.text for word in drafted],
        autojunk=len(standing) > _MANY,
    )
    for here, there, length in matcher.get_matching_blocks():
        for i in range(length):
            word = drafted[there + i]
            if standing[here + i].state != "typed":
                first = max(0, bisect_right(starts, word.start) - 1)
                last = min(count, bisect_left(starts, word.end))
                tokens = tuple(range(first, last))
                standing[here + i] = replace(standing[here + i], tokens=tokens)
    return standing


def word_at(words: Sequence[Word], letter: int | None) -> int | None:
    """The place of the word that holds `letter`, or else stands before it."""
    before = [
        at for at, word in enumerate(words) if letter is None or word.start <= letter
    ]
    return before[-1] if before else (0 if words else None)


def _words(runs: Sequence[Run]) -> list[Word]:
    text = "".join(text for text, _ in runs)
    return [Word(start, text[start:end], look) for start, end, look in words_of(runs)]


_AROUND = 40  # letters of the passage that are shown before and behind the run
_SHORTEST_WORD = 4  # letters of a word that says something by itself
_MOST = 12  # words that are compared to either side


def followed(
    text: str, start: int, sources: Iterable[Source]
) -> tuple[Source, str, str, str] | None:
    """The passage that the word of `text` at letter `start` follows: its source, and
    the text before, of and behind the words that both have."""
    ours = list(WORD.finditer(text))
    at = next((i for i, word in enumerate(ours) if word.end() > start), None)
    if at is None:
        return None
    names = [word.group().casefold() for word in ours]
    best, found = (-1, -1), None
    for source in sources:
        excerpt, theirs = source.excerpt, list(WORD.finditer(source.excerpt))
        others = [word.group().casefold() for word in theirs]
        for there in (i for i, name in enumerate(others) if name == names[at]):
            # What it follows stands before it, so that counts first.
            back = alike(names[:at][::-1][:_MOST], others[:there][::-1])
            on = alike(names[at + 1 :][:_MOST], others[there + 1 :])
            run = names[at - back : at + on + 1]
            says = any(len(w) >= _SHORTEST_WORD and w not in COMMON for w in run)
            if says and (back, on) > best:
                best = back, on
                first, last = theirs[there - back].start(), theirs[there + on].end()
                before = excerpt[max(0, first - _AROUND) : first]
                behind = excerpt[last : last + _AROUND]
                before = f"…{before}" if first > _AROUND else before
                behind = f"{behind}…" if last + _AROUND < len(excerpt) else behind
                found = source, before, excerpt[first:last], behind
    return found
