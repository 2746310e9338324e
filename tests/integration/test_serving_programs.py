"""`specsteer serve` as a process, with the embedded pair, the sample letters and the
person's own OpenAI client."""

import json
import signal
import subprocess
import sys

import pytest

from edge_app.privacy.ledger import read_ledger
from models.files import locate
from models.running.loading import load_model
from tests.command import specsteer
from tests.waiting import PATIENCE

SECRET = "the lighthouse keeper called Zebediah"
ASKED, LIMIT = "Thank Ana for the photos", ("--max-tokens", "24")


@pytest.mark.slow
def test_a_program_writes_in_the_persons_voice_and_only_its_request_leaves(
    home, monkeypatch
):
    """The texts are those of `specsteer write`; what was said before stays here."""
    openai = pytest.importorskip("openai")
    monkeypatch.setenv("SPECSTEER_THREADS", "1")
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")
    serve = ("-m", "edge_app.cli", "serve", "--port", "0", "--sample", *LIMIT)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    child = subprocess.Popen([sys.executable, *serve], **pipes)
    try:
        told = json.loads(child.stdout.readline())
        create = openai.OpenAI(**told, max_retries=0, timeout=PATIENCE).chat.completions
        said = [
            {"role": "system", "content": SECRET},
            {"role": "user", "content": ASKED},
        ]
        wanted = {"model": "specsteer", "messages": said, "seed": 4, "temperature": 0}
        text = create.create(**wanted).choices[0].message.content
        stream = create.create(**wanted, stream=True)
        pieces = [one.choices[0].delta.content or "" for one in stream if one.choices]
    finally:
        child.send_signal(signal.SIGINT)
        _, complaints = child.communicate(timeout=PATIENCE)
    assert told["base_url"].startswith("http://127.0.0.1:")
    assert text
    assert "".join(pieces) == text
    assert "Ctrl-C ends it" in complaints
    assert "Traceback" not in complaints
    assert told["api_key"] not in complaints

    write = ("write", ASKED, "--sample", "--seed", "4", "--temperature", "0", *LIMIT)
    done = specsteer(*write, "--json", stdin=SECRET)
    assert json.loads(done.stdout)["text"].strip() == text.strip()

    entries = list(read_ledger(home / "ledger.jsonl"))
    assert any(entry.token_ids for entry in entries)
    payloads = b"".join(entry.payload for entry in entries)
    model = load_model(locate("specialist"))
    ids = model.vocabulary.tokenize(SECRET)
    model.close()
    assert SECRET.encode() not in payloads
    assert ", ".join(map(str, ids[2:6])).encode() not in payloads
