"""Nothing that lies in the current folder is executed, by no process of ours.

Each module in the folder would tell in a file that it ran, and what it saw of secrets.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

BIN = Path(sys.executable).parent
SECRETS = {"SPECSTEER_STORE_KEY": "a passphrase", "SPECSTEER_TOKEN": "t" * 24}
OTHERS = (
    *("click", "httpx", "jinja2", "llama_cpp", "platformdirs", "pydantic", "rich"),
    *("sqlite_utils", "starlette", "uvicorn", "sitecustomize", "usercustomize"),
    *("fastapi", "tomlkit", "selectolax", "rank_bm25"),
)
SPY = """
import os
with open({mark!r}, "a") as file:
    print({name!r}, [n for n in os.environ if n in {secrets!r}], file=file)
raise SystemExit("this was executed: " + {name!r})
"""


@pytest.fixture
def folder(tmp_path):
    """Where a person may stand: an unpacked download, say."""
    folder, mark = tmp_path / "download", tmp_path / "executed"
    (folder / "numpy").mkdir(parents=True)
    names = [n for n in sys.stdlib_module_names if not n.startswith("_")]
    for name in (*names, *OTHERS, "numpy/__init__"):
        spy = SPY.format(mark=str(mark), name=name, secrets=[*SECRETS])
        (folder / f"{name}.py").write_text(spy)
    for name in ("uname", "ldconfig", "gcc", "file", "git", "tput", "python3"):
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {mark}\n")
        (folder / name).chmod(0o755)
    (folder / "settings.toml").write_text("this is = no setting of ours\n")
    (folder / ".env").write_text("SPECSTEER_SERVER=https://evil.example.org\n")
    (folder / ".venv").symlink_to(BIN.parent)
    yield folder
    assert not mark.exists(), mark.read_text()


def environment(home, **more):
    """As a person's shell has it, with the current folder on PATH, as in `PATH=:/bin`;
    no answer of a trial of llama.cpp is there yet."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith("SPECSTEER_")}
    path = os.pathsep.join(["", ".", ours["PATH"]])
    return {**ours, **SECRETS, "PATH": path, "SPECSTEER_HOME": str(home), **more}


def run(folder, words, home, **more):
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=environment(home, **more),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert "executed" not in done.stderr
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "specsteer write --sample --no-offline --max-tokens 3 Thank-Ana",
        "specsteer doctor",
        "specsteer search --sample plum",
        "specsteer lab bench quality --help",
        "specsteer-cloud serve --port 0 --exit-with-stdin",
    ],
)
def test_no_command_runs_any_of_it(folder, home, words):
    """Those that start processes (a server, a trial of llama.cpp), and others."""
    name, *options = words.split()
    run(folder, [BIN / name, *options], home)
    assert "write" not in options or (home / "engine-probe.json").exists()


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="reads in one process")
def test_the_processes_that_read_mail_run_none_of_it(folder, home):
    """A mailbox so large that they are started."""
    mail = "From a@b.cd Thu Jan  1 00:00:00 2026\nFrom: me@example.org\nSubject: x\n"
    with (folder / "sent.mbox").open("w") as file:
        for number in range(7):
            file.write(
                f"{mail}Message-ID: <{number}@x>\n\n" + "Words. " * 150_000 + "\n\n"
            )
    options = ["--me", "me@example.org"]
    run(folder, [BIN / "specsteer", "import", "mbox", "sent.mbox", *options], home)


@pytest.mark.parametrize(
    "module", ["edge_app.cli", pytest.param("cloud_api", marks=pytest.mark.slow)]
)
def test_python_m_reads_no_library_from_it(folder, home, module):
    """But for what Python itself reads before it comes to us."""
    early = [sys.executable, "-I", "-c", "import runpy, sys; print(*sys.modules)"]
    loaded = subprocess.run(early, capture_output=True, text=True, check=True).stdout
    for name in loaded.split():
        (folder / f"{name}.py").unlink(missing_ok=True)
    run(folder, [sys.executable, "-m", module, "--help"], home)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks the system")
def test_a_child_is_given_no_secret(home, monkeypatch):
    """Neither in its environment nor in its arguments."""
    from edge_app.transport.child_server import ChildServer
    from models.files import locate

    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")
    child = ChildServer(locate("generalist"), locate("specialist"))
    try:
        seen = [
            Path(f"/proc/{child._process.pid}/{what}").read_bytes()
            for what in ("environ", "cmdline")
        ]
        for secret in (*SECRETS.values(), "another", child.token):
            assert all(secret.encode() not in one for one in seen)
        names = {line.split(b"=")[0] for line in seen[0].split(b"\0") if line}
        assert b"SPECSTEER_HOME" in names
        assert b"PYTHONPATH" not in names
        working = Path(f"/proc/{child._process.pid}/cwd").resolve()
        assert working == Path(__file__).parents[2] / "base"
    finally:
        child.close()
