"""What the terminal and the log of the server show: named, not quoted, never without
end."""

import io
import json
import logging

import click
import pytest
from click.testing import CliRunner

from cloud_api.cli import main
from cloud_api.errors import LINES, PERIOD_SECONDS, NamingFormatter, SeldomFilter
from tests.hostile import HOSTILE, MARK, dangers

ODD = "--{hostile}", "{hostile}"
CASES = {
    "serve": (
        *(*ODD, "--host {hostile}", "--port {hostile}", "--generalist {hostile}"),
        "--generalist-url {hostile}",
        "--generalist-url http://h --base-url {hostile}",
        "--generalist-url http://127.0.0.1:1 --generalist-tokenizer {hostile}",
        "--generalist {gguf} --no-base --port 0",
        *("--address-file {hostile}/no/such", "--device {hostile} --print-settings"),
        "--tls-certificate {hostile} --generalist {gguf}",
        "--tls-certificate {gguf} --generalist {gguf}",
    ),
    "pair": (
        "phone --user {hostile} --server https://example.org --behind-proxy",
        *("{hostile}", "phone --server {hostile}", "phone --scope {hostile}"),
    ),
    "users": (
        *("{hostile}", "add {hostile}", "remove {hostile} --yes"),
        *("rename {hostile} ben", "rename owner {hostile}"),
    ),
    "devices": (
        *("{hostile}", "add {hostile}", "revoke {hostile} --yes", "lost {hostile}"),
        *("add x --user {hostile}", "add x --scope {hostile}"),
        *("rename {hostile} x", "rotate {hostile} --user {hostile}"),
    ),
    "backup": ("{hostile}/no/such",),
    "restore": ("{hostile} --yes", "{gguf} --yes", "{hostile}"),
    "init": (*ODD, "--generalist {hostile}", "--port {hostile}"),
    "doctor": ODD,
}


def test_every_command_has_a_case():
    assert set(CASES) == set(main.list_commands(click.Context(main)))


@pytest.mark.parametrize("name", CASES)
def test_hostile_arguments(name, tmp_path, monkeypatch):
    """Names of files, addresses, models, users and devices that are none."""
    monkeypatch.setenv("SPECSTEER_HOME", str(tmp_path / "home"))
    model = tmp_path / f"{MARK}\x1b[2J\x9b.gguf"
    model.write_bytes(b"GGUF" + HOSTILE.encode())
    for case in CASES[name]:
        words = [word.format(hostile=HOSTILE, gguf=model) for word in case.split()]
        result = CliRunner(charset="utf-8").invoke(main, [name, *words])
        assert result.exit_code in (1, 2), case
        assert MARK in result.output, case
        assert dangers(result.output) == [], case


@pytest.mark.parametrize("name", ["serve", "doctor"])
@pytest.mark.parametrize(
    "line",
    ["{hostile} = 1", '"{hostile}" = 1', 'port = "{hostile}"', "port = {hostile}"],
)
def test_a_hostile_settings_file(name, line, tmp_path, monkeypatch):
    """As a text of TOML that quotes it, or as it is."""
    monkeypatch.setenv("SPECSTEER_HOME", str(tmp_path))
    quoted = json.dumps(HOSTILE)[1:-1] if '"' in line else HOSTILE
    (tmp_path / "cloud.toml").write_text(line.format(hostile=quoted), "utf-8")
    result = CliRunner(charset="utf-8").invoke(main, [name])
    assert result.exit_code == 1
    assert "cloud.toml" in result.output
    assert dangers(result.output) == []


@pytest.fixture
def log():
    """A logger with a clock of its own, and what it shows."""
    screen = io.StringIO()
    handler = logging.StreamHandler(screen)
    handler.setFormatter(NamingFormatter("%(levelname)s %(message)s"))
    logger = logging.Logger("test")
    logger.addHandler(handler)
    logger.now = 0.0
    handler.addFilter(SeldomFilter(lambda: logger.now))
    return logger, lambda: screen.getvalue().split("\n")[:-1]


def test_a_line_of_the_log_is_one_line(log):
    """Else a path with a new line in it could forge the next one."""
    logger, shown = log
    logger.warning("path %s", f"{HOSTILE}\nERROR forged\t")
    (said,) = shown()
    assert said.startswith("WARNING path HOSTILE\\x1b]52")
    assert said.endswith("HOSTILE\\nERROR forged\\t")
    assert dangers(said) == []


def test_what_repeats_is_counted_until_the_period_is_over(log):
    logger, shown = log
    for logger.now in (0.0, PERIOD_SECONDS - 1, PERIOD_SECONDS, PERIOD_SECONDS):
        for _ in range(LINES + 2):
            logger.warning("a bad request")
    lines, bad = shown(), "WARNING a bad request"
    assert len(lines) == 2 * LINES
    assert lines[: LINES - 1] == [bad] * (LINES - 1)
    assert lines[LINES - 1] == f"{bad} (what follows of these is counted, not shown)"
    assert lines[LINES] == f"{bad} ({LINES + 4} more of these were not shown)"


def test_an_exception_is_named_and_hides_no_other(log):
    logger, shown = log
    for kind in (*[ValueError] * 100, KeyError):
        try:
            raise kind("canary-4242")
        except kind:
            logger.exception("a fault")
    assert len(shown()) == 2 * (LINES + 1)
    assert shown()[-1].startswith("KeyError in test_an_exception_is_named")
    assert not any("canary" in line for line in shown())
