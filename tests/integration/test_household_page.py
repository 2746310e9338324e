"""The first page of docs/household-server.md, as somebody follows it: from nothing to a
second device that writes."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cloud_api.cloud_fakes import wait_until_ready
from tests.docs_blocks import ROOT, blocks
from tests.waiting import PATIENCE

HEADING = "## From nothing to a second device\n"
PROGRAMS = {"specsteer": "edge_app.cli", "specsteer-cloud": "cloud_api"}


def commands():
    """The lines of the blocks below the heading, in order."""
    page = (ROOT / "docs" / "household-server.md").read_text("utf-8")
    begin = page.index(HEADING)
    end = page.index("\n## ", begin + len(HEADING))
    first, last = page[:begin].count("\n"), page[:end].count("\n")
    return [
        shlex.split(line)
        for block in blocks()
        if block.page == "docs/household-server.md" and first < block.line < last
        for line in block.lines
    ]


def environment(home, **own):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("SPECSTEER")}
    own |= {"SPECSTEER_HOME": str(home), "SPECSTEER_THREADS": "1"}
    return {**inherited, **own, "PYTHONPATH": str(ROOT)}


def command(words):
    return [sys.executable, "-m", PROGRAMS[words[0]], *words[1:]]


def run(words, **options):
    done = subprocess.run(
        command(words),
        **options,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


@pytest.mark.slow
def test_the_page_leads_to_a_second_device_that_writes(tmp_path):
    """Each command as it stands there; but the server stays on loopback, at a port that
    is free, and the link is the one that was shown."""
    # What the environment says counts before the file that `init` wrote.
    here = {"SPECSTEER_CLOUD_HOST": "127.0.0.1", "SPECSTEER_CLOUD_PORT": "0"}
    server = {"env": environment(tmp_path / "server", **here), "cwd": Path("/")}
    laptop = {"env": environment(tmp_path / "laptop"), "cwd": Path("/")}
    child, link, texts = None, "", []
    try:
        for words in commands():
            if words[:2] == ["specsteer-cloud", "serve"]:
                child = subprocess.Popen(
                    command(words), **server, stdout=subprocess.PIPE, text=True
                )
                wait_until_ready(json.loads(child.stdout.readline())["url"])
            elif words[0] == "specsteer-cloud":
                shown = run(words, **server)
                found = re.search(r"specsteer pair '(specsteer://[^']+)'", shown)
                link = found[1] if found else link
            else:
                filled = [link if "://" in word else word for word in words]
                texts.append(run(filled, **laptop))
    finally:
        if child is not None:
            child.send_signal(signal.SIGTERM)
            child.communicate(timeout=PATIENCE)
    paired, examined, text = texts
    assert "paired with https://127.0.0.1:" in paired
    assert "ok   server" in examined
    assert text.strip()
    assert 'host = "0.0.0.0"' in (tmp_path / "server" / "cloud.toml").read_text()
    sent = (tmp_path / "laptop" / "ledger.jsonl").read_text()
    assert '"url": "https://127.0.0.1:' in sent
