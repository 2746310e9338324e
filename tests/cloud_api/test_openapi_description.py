"""The description of the routes, looked at by schemathesis: nothing that it says is
otherwise, whatever is sent."""

import os
import subprocess
import sys

import pytest

from cloud_api.auth import Scope
from tests.cloud_api.people.people_fakes import household_server
from tests.cloud_api.test_openai_routes import load
from tests.waiting import ROOT


@pytest.mark.slow
def test_the_server_is_as_it_is_described(tmp_path):
    """Examples, bounds, fuzzing and sequences of requests."""
    pytest.importorskip("schemathesis")
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    hooks = {"SCHEMATHESIS_HOOKS": "tests.cloud_api.schemathesis_hooks"}
    env = os.environ | hooks | {"PYTHONPATH": str(ROOT)}
    with household_server(tmp_path, load=load, openai=True) as server:
        token = server.people.add_device("tester", scopes=set(Scope))
        words = [sys.executable, "-c", program]
        words += ["--config-file", str(ROOT / "schemathesis.toml"), "run"]
        words += [f"{server.url}/v1/openapi.json"]
        words += ["-H", f"Authorization: Bearer {token}", "--seed", "1"]
        words += ["--phases", "examples,coverage,fuzzing,stateful"]
        words += ["--max-examples", "40", "--no-color"]
        done = subprocess.run(
            words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "canary" not in done.stdout
