"""The process `specsteer`: its streams, its imports, its exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

ASK = """
import json, sys
from edge_app.cli import cli
for arguments in (["--help"], ["sent"], ["status"], ["search", "x"]):
    cli.main(arguments, prog_name="specsteer", standalone_mode=False)
heavy = ("textual", "llama_cpp", "fastapi", "torch", "httpx")
print(json.dumps([name for name in heavy if name in sys.modules]))
"""


def specsteer(command, **environment):
    """Run a shell command in which `specsteer` is ours."""
    line = command.replace("specsteer", f"{sys.executable} -m edge_app.cli")
    return subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=PATIENCE,
        check=False,
    )


def test_quick_commands_load_no_screen_and_no_model():
    """`--help`, `sent`, `status` and `search` stay quick."""
    done = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_closed_streams_are_no_traceback():
    """Nor is anything else opened in their place."""
    done = specsteer("specsteer status <&- >&- 2>&-; specsteer sent <&- 2>&-")
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


@pytest.mark.parametrize(
    ("command", "stderr", "status"),
    [
        # Python does not add a sentence of its own at the end.
        ("specsteer status > /dev/full", "Error: no space left on device\n", 1),
        ("specsteer --help | true; exit ${PIPESTATUS[0]}", "", None),
        # What was not agreed to is said by the status alone.
        (
            "touch $SPECSTEER_HOME/ledger.jsonl; specsteer purge < /dev/null",
            "Nothing is deleted yet: add --yes to delete it.\n",
            1,
        ),
    ],
    ids=["full disk", "reader leaves", "not agreed"],
)
def test_it_ends_without_a_traceback(command, stderr, status):
    if "/dev/full" in command and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    done = specsteer(command)
    assert done.stderr.decode() == stderr
    assert done.returncode in ((0, 1) if status is None else (status,))


def test_a_terminal_of_another_age():
    """What Latin-1 cannot show becomes a question mark."""
    done = specsteer(
        "specsteer search --sample lighthouse --limit 100 --json >/dev/null && "
        "specsteer status",
        PYTHONIOENCODING="latin-1",
        SPECSTEER_HOME=os.environ["SPECSTEER_HOME"] + "/日本",
    )
    assert done.stderr == b""
    assert b"/??\n" in done.stdout
