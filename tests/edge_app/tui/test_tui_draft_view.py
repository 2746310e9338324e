"""The view of streamed words: whatever is rewritten, it looks as if drawn at once."""

import asyncio
from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App
from tui_helpers import until

from edge_app.tui.screens.editor import DraftEditor
from edge_app.tui.screens.pane import DraftView, rows_after
from edge_app.tui.text import STATES

PIECES = [
    " a",
    " letter",
    "ing",
    ".\n\n",
    " 漢字",
    "漢字漢",
    " ",
    "unbreakably" * 4,
    "",
]
texts = st.lists(st.sampled_from(PIECES), max_size=60)


class ViewApp(App):
    CSS = "DraftView { overflow-y: scroll; }"

    def compose(self):
        yield DraftView("view")


def rows_of(pieces, starts):
    """The rows as strings."""
    places = [*starts, (len(pieces), 0)]
    flat = [(w, o, c) for w, text in enumerate(pieces) for o, c in enumerate(text)]
    return [
        "".join(c for w, o, c in flat if first <= (w, o) < last)
        for first, last in pairwise(places)
    ]


@given(texts, st.integers(4, 30))
def test_rows_fit_and_make_up_the_text(pieces, width):
    rows = rows_of(pieces, [(0, 0), *rows_after(pieces, (0, 0), width)])

    assert "".join(rows) == "".join(pieces)
    assert all(cell_len(row.rstrip()) <= width for row in rows)


@given(texts, texts, st.integers(4, 30))
def test_wrapping_on_from_the_last_row_equals_wrapping_all(before, after, width):
    starts = [(0, 0), *rows_after(before, (0, 0), width)]

    starts += rows_after(before + after, starts[-1], width)

    assert starts == [(0, 0), *rows_after(before + after, (0, 0), width)]


def test_random_rewriting_equals_drawing_all():
    """Rows, strips and states are the same as in a view that got all at once."""

    async def fuzz():
        random = Random(1)
        app = ViewApp()
        async with app.run_test(size=(40, 12)) as pilot:
            view = app.query_one(DraftView)
            for step in range(100):
                if step % 50 == 0:
                    await pilot.resize_terminal(random.randint(12, 60), 12)
                    await pilot.pause()
                rewrite(view, random)
                check(view)
                if step % 10 == 0:
                    await pilot.pause()

    def rewrite(view, random):
        first = random.randint(max(0, len(view.texts) - 10), len(view.texts))
        kept = list(zip(view.texts[first:], view.states[first:], strict=True))
        kept = [
            (text, random.choice(STATES)) for text, _ in kept[: random.randint(0, 9)]
        ]
        pieces = random.choices(PIECES, k=random.randint(0, 9))
        view.rewrite(first, kept + [(text, random.choice(STATES)) for text in pieces])

    def check(view):
        starts = list(view._starts)
        drawn = [view.render_line(y) for y in range(12)]
        view._wrap(0)
        assert view._starts == starts
        assert [view.render_line(y) for y in range(12)] == drawn

    asyncio.run(fuzz())


def test_the_editor_breaks_lines_where_the_view_did():
    """The text does not jump when the view is swapped for the editor."""
    text = "The quick brown fox jumps over the lazy dog again and again. " * 20

    class Both(App):
        CSS = """DraftView, DraftEditor { height: 1fr; padding: 0; overflow-y: scroll; }
                 DraftView, DraftEditor { scrollbar-size-vertical: 1; }"""

        def compose(self):
            yield DraftView("view")
            yield DraftEditor("editor")

    async def look():
        app = Both()
        for width in (30, 37):
            async with app.run_test(size=(width, 60)) as pilot:
                app.query_one(DraftView).rewrite(0, [(text, "kept")])
                app.query_one(DraftEditor).show_runs([(text, "kept")])
                view, editor = app.query_one(DraftView), app.query_one(DraftEditor)
                both = (view, editor)
                await until(pilot, lambda both=both: all(one.size for one in both))
                rows = rows_of(view.texts, view._starts)
                wrapped = editor.wrapped_document.get_sections(0)
                assert [row.rstrip() for row in rows if row.strip()] == [
                    row.rstrip() for row in wrapped if row.strip()
                ]
            app = Both()

    asyncio.run(look())
