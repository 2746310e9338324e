"""The description of the routes, looked at by schemathesis: nothing that it says is
otherwise, whatever is sent."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cloud_api.cloud_fakes import TOKEN, running
from tests.cloud_api.openai.test_openai_routes import load

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_server_is_as_it_is_described(seed, tmp_path):
    """Examples, bounds, fuzzing and sequences of requests."""
    pytest.importorskip("schemathesis")
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    with running(load, openai=True) as server:
        words = [sys.executable, "-c", program]
        words += ["--config-file", str(ROOT / "schemathesis.toml"), "run"]
        words += [f"{server.url}/v1/openapi.json"]
        words += ["-H", f"Authorization: Bearer {TOKEN}", "--seed", str(seed)]
        words += ["--phases", "examples,coverage,fuzzing,stateful"]
        words += ["--max-examples", "40", "--no-color"]
        done = subprocess.run(
            words,
            cwd=tmp_path,
            env=os.environ
            | {
                "SCHEMATHESIS_HOOKS": "tests.cloud_api.schemathesis_hooks",
                "PYTHONPATH": str(ROOT),
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "canary" not in done.stdout
