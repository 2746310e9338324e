"""The list of settings comes from the classes that hold them."""

from itertools import groupby

import pytest

from decoding_core.errors import InvalidSettingsError
from edge_app.config.schema import list_settings


def by_name(path, **options):
    return {one.name: one for one in list_settings(path, environment={}, **options)}


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
