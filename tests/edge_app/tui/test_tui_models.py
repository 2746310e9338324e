"""The drawer of models: a pair is offered, fetched from a real hub on loopback, checked
and used; what fails is a sentence."""

import shutil
from unittest.mock import Mock

import pytest
from textual.widgets import OptionList
from tui_helpers import gated_service, make_app, play, said, until

from edge_app.config.settings import read_settings, settings_path
from edge_app.evaluation import choosing
from edge_app.tui.screens.drawer import Question
from edge_app.tui.screens.models import ModelsDrawer
from models.files import known_pairs, locate
from models.local import describing, pulling
from models.local.describing import MachineMemory
from models.local.finding import pulled_folder
from tests.hostile import HOSTILE, dangers
from tests.models.local.small_hub import asked_hub
from tests.models.local.test_finding import header_only

pytestmark = pytest.mark.usefixtures("drawn_when_asked")

PAIR = next(one for one in known_pairs() if one.specialist == "smollm2-360m")
ROLES = "specialist", "generalist"


@pytest.fixture
def hub(monkeypatch):
    """Has the embedded pair under the names of one of the catalogue, which is the one
    for this machine."""
    memory = Mock(return_value=MachineMemory(25 * 10**9, 25 * 10**9))
    monkeypatch.setattr(describing, "machine_memory", memory)
    monkeypatch.setattr(choosing, "usable_cores", Mock(return_value=2))
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")
    with asked_hub(monkeypatch) as one:
        for model, role in zip(choosing.models_of(PAIR), ROLES, strict=True):
            one.has(model.repository, {model.file: locate(role).read_bytes()})
        yield one


async def asked(pilot, *keys):
    """Press keys, and wait for the question to which they lead; its sentence."""
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(pilot.app.screen, Question))
    return said(pilot.app, "#sentence")


def result(app):
    """What the drawer says, also below a question."""
    (drawer,) = (one for one in app.screen_stack if isinstance(one, ModelsDrawer))
    return str(drawer.query_one("#result").render())


def places():
    """Where both models lie, whether they do or not."""
    return [
        pulled_folder() / one.repository / one.file for one in choosing.models_of(PAIR)
    ]


def test_a_pair_is_fetched_checked_and_used(hub, tmp_path):
    """Closed in the middle of it, and gone on with by the next start."""
    app = make_app(gated_service(), tmp_path)
    hub.hold_after = 5 << 20

    def begun():
        return sum(part.stat().st_size for part in pulled_folder().rglob(".*.part"))

    async def steps(pilot):
        await pilot.press("alt+p")
        lines = app.screen.query_one(OptionList)
        first = str(lines.get_option_at_index(0).prompt).splitlines()
        names = f"{PAIR.specialist} and {PAIR.generalist}"
        assert first[0] == f"{names}: for this machine, 1.4 GB to get"
        assert first[1] == f"  {PAIR.specialist}: 0.4 GB, Apache-2.0"
        assert lines.option_count > 3
        sentence = await asked(pilot, "enter")
        assert f"1.4 GB will be fetched from {hub.url}, under Apache-2.0" in sentence
        await pilot.press("n", "x")
        assert not hub.seen
        assert not pulled_folder().exists()

        await asked(pilot, "enter")
        await pilot.press("y")
        await until(pilot, lambda: pulled_folder().exists() and begun() == 5 << 20)
        await until(pilot, lambda: "5 of 69 MB" in result(app))
        await pilot.press("enter", "escape")  # one at a time
        await until(pilot, lambda: app.screen is app.page)
        assert begun() == 5 << 20

        await pilot.press("alt+p")
        await asked(pilot, "enter")
        sentence = await asked(pilot, "y")
        assert hub.ranges() == ["", f"bytes={5 << 20}-", ""]
        assert "they fit together, with one vocabulary of 8,192 tokens" in sentence
        await pilot.press("y")
        assert "from the next start on" in result(app)
        assert str(lines_of(app)).count(", here") == 3

    play(app, steps)
    settings = read_settings()
    assert [settings.specialist, settings.generalist] == list(map(str, places()))


def lines_of(app):
    """What the list says of its first pair."""
    return app.screen.query_one(OptionList).get_option_at_index(0).prompt


def test_what_fails_is_a_sentence_and_loses_nothing(hub, tmp_path, monkeypatch):
    app, small = make_app(gated_service(), tmp_path), choosing.models_of(PAIR)[0]
    content = hub.repositories[small.repository].files[small.file]

    async def steps(pilot):
        async def fails(words, *keys):
            await pilot.press(*keys)
            await until(pilot, lambda: words in result(app))
            assert isinstance(app.screen, ModelsDrawer)
            assert "\n" not in result(app)

        await pilot.press("alt+p")
        for name, words in (
            ("ftp://x", "no address of a hub"),
            ("http://127.0.0.1:1", "cannot be reached"),
        ):
            with monkeypatch.context() as patch:
                patch.setenv("HF_ENDPOINT", name)
                await fails(words, "enter", *["y"] * (name[0] == "h"))

        hub.alter = lambda whole: whole[:-1] + b"?"
        await fails("another checksum than the hub names", "enter", "y")
        hub.alter = lambda whole: whole
        usage = shutil.disk_usage("/")._replace(free=1 << 20)
        with monkeypatch.context() as patch:
            patch.setattr(pulling.shutil, "disk_usage", lambda _: usage)
            await fails("has no room", "enter", "y")

        hub.repositories[small.repository].card = {"license_name": f"mine{HOSTILE}"}
        await asked(pilot, "enter")
        sentence = await asked(pilot, "y")
        assert "is under 'mine" in sentence
        assert dangers(sentence) == []
        assert not any(path.exists() for path in places())
        await pilot.press("n")

        for path in places():
            path.parent.mkdir(parents=True, exist_ok=True)
        header_only(places()[0], ["x", "y"], unused=9)
        header_only(places()[1], ["x", "z"])
        await fails("is not the larger of both", "enter")

        places()[0].write_bytes(content)
        monkeypatch.setattr(choosing, "measured", lambda *_: "they fit together")
        settings_path().write_text("broken =\n")
        await asked(pilot, "enter")
        await fails("cannot be read", "y")

    play(app, steps)
    assert settings_path().read_text() == "broken =\n"
