"""`specsteer` without a command: the terminal app."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from edge_app import sample
from edge_app.commands.first_run import Arrivals, FirstRun
from edge_app.commands.service_config import service_config
from edge_app.config.settings import read_settings, store_path
from edge_app.service.late import LateService, writing_service
from edge_app.tui.app import SpecSteerApp, run_app
from edge_app.tui.journal.files import JournalFolder
from edge_app.tui.settings.preferences import Preferences
from models.folders import state_folder
from models.prompts import Request
from personal_store.database import keys
from personal_store.database.connecting import holds_own_texts


def draft_journals() -> JournalFolder:
    """The drafts of this person; under the store's key once the store was opened."""
    return JournalFolder(
        state_folder() / "drafts", lambda: keys.known(store_path()) or ""
    )


def open_app(lora: str | None = None) -> None:
    """Open the app, with the adapter of that name or path where one is given, and not
    that of the settings; ends the process with its exit code."""
    settings = read_settings()

    configured = partial(service_config, settings, lora=lora, may_sample=True)
    has_letters = holds_own_texts(store_path())
    first = None if has_letters else Request(sample.REQUEST, "email", sample.RECIPIENT)
    if has_letters:  # what is missing is said before the app opens
        service = LateService(partial(writing_service, configured()))
    else:
        service = FirstRun(lambda: writing_service(configured()))
    app = SpecSteerApp(
        service,
        save_folder=Path.cwd(),
        first_request=first,
        defaults=settings.method,
        journals=draft_journals(),
        practice_models=not (settings.specialist or settings.generalist),
        arriving=Arrivals().in_words,
        preferences=Preferences(
            settings, options={} if lora is None else {"lora": lora}
        ),
    )
    sys.exit(run_app(app))
