"""An engine of either kind on each side, over the real command and socket."""

import json
import subprocess
import sys
from itertools import product

import pytest

from models.folders import state_folder
from models.running.loading import available
from tests.exported_models import exported

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The embedded pair as float32, by engine and role."""
    for module in ("torch", "transformers", "gguf"):
        pytest.importorskip(module)
    return exported(tmp_path_factory.mktemp("models"))


def test_each_pairing_of_engines_writes_the_same_letter(models):
    """At temperature 0, from the same numbers."""
    state_folder().mkdir(mode=0o700, exist_ok=True)
    settings = state_folder() / "settings.toml"
    settings.write_text('precision = "float32"\nthreads = 1\n')
    settings.chmod(0o600)
    texts = {}
    for device, server in product(available(), repeat=2):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "edge_app.cli", "write"),
                *("Thank her for the photos and invite her", "--to", "Ana"),
                *("--sample", "--temperature", "0", "--max-tokens", "60", "--json"),
                *("--specialist", models[device]["specialist"]),
                *("--generalist", models[server]["generalist"]),
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        body = json.loads(done.stdout)
        assert body["statistics"]["rounds"] > 0, "the server took part"
        texts[device, server] = body["text"]
    assert len(set(texts.values())) == 1, texts
