"""Screens that are imported when they are first opened: the page is painted before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_app.tui.screens.drawer import Drawer

if TYPE_CHECKING:
    from edge_app.tui.app import SpecSteerApp

NAMES = (
    "help",
    "sources",
    "sent",
    "numbers",
    "compare",
    "drafts",
    "import",
    "reply",
    "style",
)


def opened(name: str, app: SpecSteerApp) -> Drawer:
    """The drawer of this name, for the app's page."""
    writing, page = app.writing, app.page
    match name:
        case "help":
            from edge_app.tui.screens.help import HelpDrawer

            return HelpDrawer()
        case "sources":
            from edge_app.tui.screens.sources import SourcesDrawer

            return SourcesDrawer(writing)
        case "sent":
            from edge_app.tui.screens.sent import SentDrawer

            return SentDrawer(writing, page.save_folder)
        case "numbers":
            from edge_app.tui.screens.numbers import NumbersDrawer

            return NumbersDrawer(writing)
        case "compare":
            from edge_app.tui.screens.draft.compare import CompareDrawer

            return CompareDrawer(writing, page.put)
        case "drafts":
            from edge_app.tui.screens.draft.library import DraftsDrawer

            return DraftsDrawer(writing, app.go_on_with)
        case "import":
            from edge_app.tui.screens.import_letters import ImportDrawer

            return ImportDrawer(writing)
        case "reply":
            from edge_app.tui.screens.draft.reply import ReplyDrawer

            return ReplyDrawer(writing, page.answer)
        case _:
            from edge_app.tui.screens.draft.style import StyleDrawer

            return StyleDrawer(writing, page.brief.request, page.stale)
