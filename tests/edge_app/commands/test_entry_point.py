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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_a_sentence():
    """Python does not add one of its own at the end."""
    done = specsteer("specsteer status > /dev/full")
    assert done.stderr == b"Error: no space left on device\n"
    assert done.returncode == 1


def test_a_reader_that_leaves_is_no_traceback():
    """As with `| head`."""
    done = specsteer("specsteer --help | true; exit ${PIPESTATUS[0]}")
    assert done.stderr == b""
    assert done.returncode in (0, 1)


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


def test_what_was_not_agreed_to_is_status_1():
    """A command that ends without a sentence of its own says so by its status."""
    Path(os.environ["SPECSTEER_HOME"], "ledger.jsonl").touch()
    done = specsteer("specsteer purge < /dev/null")
    assert done.stderr == b"Nothing is deleted yet: add --yes to delete it.\n"
    assert done.returncode == 1
