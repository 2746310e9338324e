"""The commands of docs/check-it-yourself.md, as somebody types them who believes
nothing."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs_blocks import blocks

PAGE = "check-it-yourself.md"
OURS = "tests/test_check_it_yourself.py runs it"


def scripts():
    found = [b for b in blocks() if b.page.endswith(PAGE) and b.why_not == OURS]
    assert len(found) == 4
    return [block.text for block in found]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def typed(script, folder):
    """What a shell prints, with the programs of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-m", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "SPECSTEER_EXTRA_BUFFERS": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr  # grep says 1 where it counts none
    return done


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
def test_the_socket_gets_what_the_ledger_says(tmp_path):
    """To the byte; the opening once, and no word of a letter as text."""
    watched, counted, searched, _ = scripts()
    script = "\n".join((watched, counted, searched))
    for port in ("8765", "8766"):
        script = script.replace(port, free_port())
    done = typed(script, tmp_path)
    *_, passed, told, openings, words = done.stdout.split()
    assert int(passed) == int(told) > 4096, done.stderr
    assert (openings, words) == ("1", "0")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_offline_connects_to_nobody(tmp_path):
    *_, offline = scripts()
    done = typed(f"export SPECSTEER_HOME=$PWD/home\n{offline}", tmp_path)
    assert (tmp_path / "calls.txt").exists(), done.stderr
    assert done.stdout.split()[-1] == "0"
