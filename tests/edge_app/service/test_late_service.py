"""The service that is imported late: nothing before the first paint, and it can be
closed at any time."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from decoding_core.errors import StoppedError
from edge_app.service.configuration import ServiceConfig
from edge_app.service.late import LateService, writing_service

HEAVY = ("edge_app.service.service", "httpx", "llama_cpp", "transformers")


def service(folder: Path) -> LateService:
    nowhere = folder / "nowhere"
    config = ServiceConfig(nowhere, nowhere, folder / "store.db", nowhere)
    return LateService(partial(writing_service, config))


def test_the_page_is_painted_without_the_service():
    code = "import sys, edge_app.commands.app; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(done.stdout.split())


def test_a_service_that_was_closed_first_loads_nothing(tmp_path):
    """It is closed when it is made, as a thread asks for it that came too late."""
    late = service(tmp_path)
    assert not late.server_ended()
    late.close()
    with pytest.raises(StoppedError):
        late.prepare()


def test_all_ask_one_service(tmp_path):
    late = service(tmp_path)
    assert late.counts()["own"] == 0
    made = late._service
    assert late.search("pier") == []
    assert late._service is made
    late.close()
    with pytest.raises(StoppedError):
        late.prepare()
