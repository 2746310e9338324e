"""The list of settings comes from the classes that hold them; one is written, and
nothing else in the file changes."""

import stat

import pytest

from decoding_core.errors import InvalidSettingsError
from edge_app.config.schema import list_settings
from edge_app.config.settings import read_settings, write_settings


def by_name(path, **options):
    return {one.name: one for one in list_settings(path, **options)}


def test_each_says_what_it_is_for_and_who_says_so(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("# mine\nexact = true\n[method]\nstrength = 2\n")
    every = by_name(path, options={"lora": "ana"})
    said_by = {"exact": "file", "method.strength": "file", "method.top_p": "default"}
    said_by["lora"] = "option"
    assert {name: every[name].said_by for name in said_by} == said_by
    assert every["exact"].choices == ("true", "false")
    assert (every["method.strength"].value, every["lora"].value) == (2, "ana")
    assert "how strongly the personal delta" in every["method.strength"].help
    assert every["guard"].choices == ("placeholder", "local", "ask", "off")
    assert every["threads"].allowed == "a whole number"
    assert every["method.threshold"].parsed("auto") == "auto"
    assert every["method.threshold"].parsed("0.5") == 0.5
    assert every["method.threshold"].parsed(" ") is None
    with pytest.raises(InvalidSettingsError, match="must be a number or auto, not 'x'"):
        every["method.threshold"].parsed("x")


def test_a_secret_is_never_shown(tmp_path, monkeypatch):
    path = tmp_path / "settings.toml"
    path.write_text('token = "geheim"\n')
    monkeypatch.setenv("SPECSTEER_TOKEN", "other")
    (token,) = [one for one in list_settings(path) if one.name == "token"]
    assert token.said_by == "environment"
    assert token.shown() == "(set)"


FILE = """# my settings
server = "http://box:8765"   # the box under the stairs
token = "secret"

[method]
# a while ago
temperature = 0.7
strength = 1.0  # beta
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_other_lines_and_comments_stay(tmp_path, ends):
    """Also their line ends. Others who could read the file cannot any more: it may hold
    a token."""
    path = tmp_path / "settings.toml"
    path.write_bytes(FILE.replace("\n", ends).encode())
    path.chmod(0o640)
    assert (
        write_settings({"method.strength": 1.5, "method.threshold": 0.1}, path) == path
    )
    before = FILE.replace("\n", ends).splitlines(keepends=True)
    after = path.read_bytes().decode().splitlines(keepends=True)
    assert after[:7] == before[:7]
    assert after[7] == f"strength = 1.5  # beta{ends}"
    assert after[8].strip() == "threshold = 0.1"
    assert len(after) == 9
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    settings = read_settings(path)
    assert (settings.method.strength, settings.method.threshold) == (1.5, 0.1)
    assert settings.token == "secret"
    assert [file.name for file in tmp_path.iterdir()] == ["settings.toml"]


def test_a_file_that_was_not_there(home):
    """The one that everything reads; nobody else may. A line is taken out again."""
    path = write_settings({"method.strength": 0.5})
    write_settings({"keys.draft": "ctrl+b", "theme": "nord"})
    assert path.parent == home
    settings = read_settings()
    assert (settings.method.strength, settings.theme) == (0.5, "nord")
    assert settings.keys == {"draft": "ctrl+b"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for name in ("keys.draft", "method.strength", "theme"):
        write_settings({name: None})
    assert path.read_text().split() == ["[method]", "[keys]"]


@pytest.mark.parametrize(
    ("before", "changes"),
    [
        ("[method\n", {"method.strength": 1.0}),
        ("method = 3\n", {"method.strength": 1.0}),
        ("", {"method.strength": -1.0}),
        ("", {"method.no_such": 1.0}),
    ],
)
def test_nothing_is_written_that_could_not_be_read(tmp_path, before, changes):
    """The file stays as it was."""
    path = tmp_path / "settings.toml"
    path.write_text(before)
    with pytest.raises(InvalidSettingsError):
        write_settings(changes, path)
    assert path.read_text() == before
    assert [file.name for file in tmp_path.iterdir()] == ["settings.toml"]


def test_a_link_stays_a_link(tmp_path):
    """What it points at is written."""
    real, link = tmp_path / "real.toml", tmp_path / "settings.toml"
    real.write_text("")
    link.symlink_to(real)
    write_settings({"method.strength": 1.5}, link)
    assert link.is_symlink()
    assert "strength = 1.5" in real.read_text()


def test_the_practice_pair_draws_fewer_of_its_unlikely_words(tmp_path):
    """Models of one's own, and a temperature that is set, are left alone."""
    path = tmp_path / "settings.toml"
    for body, expected in (
        ("", 0.4),
        ("generalist = 'large.gguf'", 0.7),
        ("specialist = 'small.gguf'\n[method]\ntemperature = 0.2", 0.2),
    ):
        path.write_text(body)
        assert read_settings(path).method.temperature == expected
        shown = by_name(path)["method.temperature"]
        assert (shown.value, shown.said_by == "file") == (expected, expected == 0.2)
