"""Pairs of models for this machine: get one, check it, and use it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.text import Text
from textual import on
from textual.widget import Widget
from textual.widgets import OptionList, ProgressBar, Static
from textual.widgets.option_list import Option

from decoding_core.errors import DecodingError
from decoding_core.foreign_text import one_line
from edge_app.evaluation import choosing
from edge_app.evaluation.choosing import gigabytes
from edge_app.tui.screens.drawer import Question, fill
from edge_app.tui.screens.settings import PreferencesDrawer
from models.files import KnownPair
from models.local import describing

if TYPE_CHECKING:
    from models.local.pulling import Offer

_NOTE = (
    "A small model, which reads your texts, and a large one, which never does. "
    "Nothing is asked of a network before you say yes."
)
_T = TypeVar("_T")


class ModelsDrawer(PreferencesDrawer):
    """Lists the pairs of the catalogue that fit; Enter gets, checks and uses one."""

    NAME = "models"
    TITLE = "Models"
    FOOT = "enter gets, checks and uses a pair · esc stops, what came is kept"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._best = choosing.recommended_pair()
        self._pairs = choosing.offered_pairs(self._best)
        self._stop = threading.Event()
        self._doing = ""  # what a thread does now
        self._bytes = 0, 0  # of how many it has done that

    def contents(self) -> Iterable[Widget]:
        """What it is about, the list, how far a pull is, and what came of it."""
        none = "" if self._best else " For this machine: the pair that came with it."
        yield Static(_NOTE + none, classes="note", markup=False)
        yield OptionList(id="list")
        yield ProgressBar(id="bar")
        yield Static(id="result", markup=False)

    def on_mount(self) -> None:
        """List the pairs."""
        self._list()
        self.advance()

    def on_unmount(self) -> None:
        """Stop what is being done."""
        self._stop.set()

    def advance(self) -> None:
        """Show how far it is."""
        done, total = self._bytes
        bar = self.query_one(ProgressBar)
        bar.display = bool(self._doing and total)
        if bar.display:
            bar.update(total=total, progress=done)
            self.say(f"{self._doing}: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB")
        elif self._doing:
            self.say(f"{self._doing}…")

    def _list(self) -> None:
        lines, memory = [], describing.machine_memory()
        for pair in self._pairs:
            lacks = choosing.download_bytes(pair)
            line = Text(f"{pair.specialist} and {pair.generalist}", "bold")
            line.append(": for this machine" * (pair == self._best), "bold")
            line.append(f", {gigabytes(lacks)} to get" if lacks else ", here")
            if memory.fit(choosing.catalogue_memory(pair)) == "tight":
                line.append(", if other programs end")
            for model in choosing.models_of(pair):
                size, here = gigabytes(int(model.gigabytes * 1e9)), ", here"
                said = f"{size}, {model.licence}{here * choosing.is_here(model)}"
                line.append(f"\n  {model.name}: {said}", "dim")
            lines.append(Option(line))
        fill(self.query_one(OptionList), lines)

    def _run(
        self, doing: str, work: Callable[[], _T], then: Callable[[_T], object]
    ) -> None:
        """Call `work` in a thread, then `then`; a failure is shown."""
        self._doing, self._bytes = doing, (0, 0)

        def ended(apply: Callable[[Any], object]) -> Callable[[Any], None]:
            def end(result: object) -> None:
                if self not in self.app.screen_stack:
                    return
                self._doing = ""
                self._list()
                self.advance()
                self.say("")
                apply(result)

            return end

        self.advance()
        background = self.writing.background
        background.run(work, ended(then), ended(self.say), waits=False)

    def _heard(self, done: int, total: int) -> None:
        """Have it shown how far the thread is that calls."""
        self._bytes = done, total
        self.writing.background.post(lambda: None)

    def _ask(
        self, title: str, sentence: str, yes: str, then: Callable[[], None]
    ) -> None:
        """Do `then` after a yes."""
        answers = (("y", "yes", yes), ("n", "no", "not now"))
        asked = Question(title, one_line(sentence), answers)
        self.app.push_screen(asked, lambda said: then() if said == "yes" else None)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        if self._doing:
            return
        pair = self._pairs[event.option_index]
        lacks = choosing.download_bytes(pair)
        if not lacks:
            self._check(pair)
            return
        from models.local.pulling import hub_address

        try:
            hub = hub_address()
        except DecodingError as error:
            self.say(str(error))
            return
        lacking = [one for one in choosing.models_of(pair) if not choosing.is_here(one)]
        licences = " and ".join(dict.fromkeys(one.licence for one in lacking))
        self._ask(
            "Get it?",
            f"About {gigabytes(lacks)} will be fetched from {hub}, under {licences}.",
            "agree and get it",
            lambda: self._run(
                f"asking {hub}",
                lambda: [choosing.offer_of(one) for one in lacking],
                lambda offers: self._agree(pair, licences, offers),
            ),
        )

    def _agree(self, pair: KnownPair, named: str, offers: Sequence[Offer]) -> None:
        """Ask again if the hub names another licence than the catalogue, then pull."""
        others = [
            f"{one.repository} is under '{one.licence or 'no named licence'}' "
            f"{one.licence_address}".rstrip()
            for one in offers
            if one.licence.casefold() not in named.casefold().split(" and ")
            and not choosing.is_agreed(one)
        ]

        def pull() -> None:
            self._run(
                f"getting {pair.specialist} and {pair.generalist}",
                lambda: choosing.pull_all(offers, self._heard, self._stop),
                lambda _: self._check(pair),
            )

        if others:
            self._ask("Agree?", f"The hub says: {'; '.join(others)}.", "agree", pull)
        else:
            pull()

    def _check(self, pair: KnownPair) -> None:
        def offer(found: str) -> None:
            self.say(found)
            said = f"{pair.specialist} and {pair.generalist}: {found}."
            said += " Use it from the next start?"
            self._ask("Use it?", said, "use it", lambda: self._use(pair))

        check = partial(choosing.measured, pair, self._heard, self._stop)
        self._run("checking both", check, offer)

    def _use(self, pair: KnownPair) -> None:
        def use() -> tuple[Path, str]:
            paths = choosing.resolved(pair.specialist, pair.generalist)
            return choosing.use_pair(paths, self._preferences.path)

        written = self.kept(use)
        if written:
            file, warning = written
            said = f"kept in {file}: this pair writes from the next start on"
            self.say(f"{said}; {warning}" if warning else said)
