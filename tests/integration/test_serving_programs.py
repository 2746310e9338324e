"""`specsteer serve` as a process, with the embedded pair, the sample letters and the
person's own OpenAI client."""

import json
import os
import signal
import subprocess
import sys

import pytest

from edge_app.privacy.ledger import read_ledger
from models.files import locate
from models.prompts import Message
from models.running.loading import load_model
from tests.waiting import PATIENCE

SECRET = "the lighthouse keeper called Zebediah"


@pytest.mark.slow
def test_a_program_writes_in_the_persons_voice_and_only_its_request_leaves(tmp_path):
    """The texts are those of `specsteer write`; what was said before stays here."""
    openai = pytest.importorskip("openai")
    home = tmp_path / "home"
    environment = os.environ | {
        "SPECSTEER_HOME": str(home),
        "SPECSTEER_THREADS": "1",
        "SPECSTEER_EXTRA_BUFFERS": "off",
    }
    words = [sys.executable, "-m", "edge_app.cli"]
    serve = [*words, "serve", "--port", "0", "--sample", "--max-tokens", "24"]
    child = subprocess.Popen(
        serve,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        told = json.loads(child.stdout.readline())
        asked = openai.OpenAI(**told, max_retries=0, timeout=PATIENCE)
        wanted = {
            "model": "specsteer",
            "messages": [
                {"role": "system", "content": SECRET},
                {"role": "user", "content": "Thank Ana for the photos"},
            ],
            "seed": 4,
            "temperature": 0,
        }
        text = asked.chat.completions.create(**wanted).choices[0].message.content
        stream = asked.chat.completions.create(**wanted, stream=True)
        said = [one.choices[0].delta.content or "" for one in stream if one.choices]
    finally:
        child.send_signal(signal.SIGINT)
        _, complaints = child.communicate(timeout=PATIENCE)
    assert told["base_url"].startswith("http://127.0.0.1:")
    assert text
    assert "".join(said) == text
    assert "Ctrl-C ends it" in complaints
    assert "Traceback" not in complaints
    assert told["api_key"] not in complaints

    write = [*words, "write", "Thank Ana for the photos", "--sample", "--seed", "4"]
    done = subprocess.run(
        [*write, "--temperature", "0", "--max-tokens", "24", "--json"],
        env=environment,
        input=SECRET,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["text"].strip() == text.strip()

    sent = [event for event in read_ledger(home / "ledger.jsonl") if event.token_ids]
    assert sent
    model = load_model(locate("specialist"))
    opened = b"".join(event.payload for event in read_ledger(home / "ledger.jsonl"))
    prompt = model.vocabulary.tokenize(Message("user", SECRET).content)
    assert SECRET.encode() not in opened
    assert ", ".join(map(str, prompt[2:6])).encode() not in opened
    model.close()
