"""What computes besides the processor is used if llama.cpp was built for it, and its
extra buffers after a trial."""

import json
import re
import shlex
import sys

import pytest

from models.running import machine as accelerators
from models.running.machine import Answer, describe_accelerators, layers_on_accelerator
from models.running.settings import EngineSettings


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """One without any accelerator; `card` puts the driver of one there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(accelerators, "_NVIDIA_CARDS", tmp_path / "gpus")
    monkeypatch.setattr(accelerators.platform, "system", lambda: "Linux")

    class Machine:
        def nvidia_smi(self):
            path = tmp_path / "nvidia-smi"
            path.write_text("#!/bin/sh\nexit 9\n")
            path.chmod(0o700)

        def card(self, model):
            folder = tmp_path / "gpus" / "0000:01:00.0"
            folder.mkdir(parents=True)
            (folder / "information").write_text(f"Model: \t {model}\nIRQ:  1\n")

        def apple(self):
            monkeypatch.setattr(accelerators.platform, "system", lambda: "Darwin")
            monkeypatch.setattr(accelerators.platform, "machine", lambda: "arm64")

        def built_for_it(self):
            monkeypatch.setattr(accelerators, "build_finds_device", lambda: True)

    return Machine()


def test_a_build_without_cuda_is_told_how_to_get_it(machine):
    machine.nvidia_smi()
    machine.card("NVIDIA \x1b[31mL4")
    said = describe_accelerators(EngineSettings())
    assert "\x1b" not in said
    assert "L4) is here, and llama.cpp was built without CUDA" in said
    command = said.partition("To rebuild: ")[2]
    setting, python, *words = shlex.split(command)
    assert (setting, python) == ("CMAKE_ARGS=-DGGML_CUDA=on", sys.executable)
    assert words[:3] == ["-m", "pip", "install"]
    assert re.fullmatch(r"llama-cpp-python==\d+\.\d+\.\d+", words[-1])
    assert layers_on_accelerator(EngineSettings()) == 0


def test_where_the_build_has_it_all_layers_run_there_but_what_is_set_wins(machine):
    machine.card("NVIDIA L4")
    machine.built_for_it()
    assert layers_on_accelerator(EngineSettings()) == -1
    assert describe_accelerators(EngineSettings()).endswith("all layers run there")
    for layers, words in ((0, "no layer"), (7, "7 layers"), (-1, "all layers")):
        settings = EngineSettings(gpu_layers=layers)
        assert layers_on_accelerator(settings) == layers
        said = f"{words} run there, as gpu_layers says"
        assert describe_accelerators(settings).endswith(said)
    assert layers_on_accelerator(EngineSettings(exact=True)) == 0


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.delenv(accelerators.BUFFERS_VARIABLE, raising=False)
    accelerators.probe.cache_clear()
    yield
    accelerators.probe.cache_clear()


def test_a_trial_runs_in_a_child_and_its_answer_is_kept(home, monkeypatch):
    """Once per machine and build."""
    answer = accelerators.probe()
    kept = json.loads((home / "engine-probe.json").read_text())
    assert kept["facts"] == {"works": answer.works, "reason": answer.reason}
    accelerators.probe.cache_clear()
    monkeypatch.setattr(
        accelerators, "_try_in_child", lambda _: pytest.fail("tried again")
    )
    assert accelerators.probe() == answer


OTHER = {"machine": "other", "facts": {"works": True, "reason": "old"}}


def test_a_crash_of_the_child_means_no(monkeypatch, tmp_path):
    """The signal is named, and this process lives."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "crash.py").write_text(
        "import os, signal\ndef main(): os.kill(os.getpid(), signal.SIGSEGV)"
    )
    monkeypatch.setattr(accelerators, "_TRIAL", "crash:main")
    answer = accelerators._try_in_child(tmp_path)
    assert answer == Answer(
        False, "they crash on this machine (SIGSEGV), nothing needs them"
    )
