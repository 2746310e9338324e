"""The list of settings comes from the classes that hold them."""

from itertools import groupby

import pytest

from decoding_core.errors import InvalidSettingsError
from edge_app.config.schema import list_settings
from edge_app.config.settings import read_settings, write_settings


def by_name(path, **options):
    return {one.name: one for one in list_settings(path, environment={}, **options)}


def test_each_says_what_it_is_for_and_who_says_so(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("# mine\nexact = true\n[method]\nstrength = 2\n")

    every = by_name(path, options={"lora": "ana"})

    assert every["exact"].said_by == "file"
    assert every["exact"].choices == ("true", "false")
    assert every["method.strength"].value == 2
    assert every["method.strength"].said_by == "file"
    assert every["method.top_p"].said_by == "default"
    assert (every["lora"].value, every["lora"].said_by) == ("ana", "option")
    assert "how strongly the personal delta" in every["method.strength"].help
    assert every["guard"].choices == ("placeholder", "local", "ask", "off")
    assert every["threads"].allowed == "a whole number"
    assert every["method.threshold"].parsed("auto") == "auto"
    assert every["method.threshold"].parsed("0.5") == 0.5
    assert every["method.threshold"].parsed(" ") is None
    with pytest.raises(InvalidSettingsError, match="must be a number or auto, not 'x'"):
        every["method.threshold"].parsed("x")


def test_they_stand_in_groups_in_a_persons_words_researchers_last(tmp_path):
    """Each group once, each setting under a title of its own."""
    every = list_settings(tmp_path / "settings.toml", environment={})
    assert list(dict.fromkeys(one.group for one in every)) == [
        *("Writing", "What leaves this device", "The checker", "Models", "Looks"),
        "For researchers",
    ]
    assert [group for group, _ in groupby(every, lambda one: one.group)] == list(
        dict.fromkeys(one.group for one in every)
    )
    titles = [one.title for one in every]
    assert len({*titles}) == len(titles)
    own = [one for one in every if one.group != "For researchers"]
    assert all(len(one.title) <= 24 and "_" not in one.title for one in own)
    assert {"method.candidates", "cadence"} <= {*titles}


def test_a_secret_is_never_shown(tmp_path, monkeypatch):
    path = tmp_path / "settings.toml"
    path.write_text('token = "geheim"\n')
    monkeypatch.setenv("SPECSTEER_TOKEN", "other")

    (token,) = [one for one in list_settings(path) if one.name == "token"]
    assert token.said_by == "environment"
    assert token.shown() == "(set)"


def test_a_setting_is_written_beside_the_others_and_taken_out_again(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("# mine\nexact = true\n\n[method]\ntop_p = 0.5\n")
    before = path.read_text()

    write_settings({"keys.draft": "ctrl+b"}, path)
    write_settings({"method.strength": 1.5}, path)
    write_settings({"theme": "nord"}, path)

    settings = read_settings(path)
    assert settings.keys == {"draft": "ctrl+b"}
    assert settings.method.strength == 1.5
    assert settings.theme == "nord"
    assert path.read_text().startswith("# mine\nexact = true\n")
    for name in ("keys.draft", "method.strength", "theme"):
        write_settings({name: None}, path)
    assert path.read_text().replace("[keys]\n", "").strip() == before.strip()
    with pytest.raises(InvalidSettingsError, match="strength must lie between"):
        write_settings({"method.strength": -1.0}, path)
    assert "strength" not in path.read_text()
