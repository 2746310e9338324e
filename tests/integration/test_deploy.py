"""What lies in deploy/, as far as this machine can look at it."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cloud_api.commands.serve import serve
from edge_app.decoding.session import Patience
from tests.cloud_api.people.people_fakes import household_server
from tests.docs_blocks import complaint

DEPLOY = Path(__file__).parents[2] / "deploy"
UNIT = DEPLOY / "specsteer-cloud.service"


def needs(program):
    return pytest.mark.skipif(
        shutil.which(program) is None, reason=f"there is no {program}"
    )


def instructions(path):
    """The instructions of a Containerfile, each with its words."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [line.split(None, 1) for line in lines if line.strip()]


def settings(path):
    """Lines of a unit, by their names."""
    pairs = (line.partition("=") for line in path.read_text().splitlines())
    return {name: value for name, _, value in pairs if not name.startswith("#")}


@needs("systemd-analyze")
@pytest.mark.parametrize("ends", [".service", "@.service"])
def test_systemd_takes_the_unit_and_several_gateways_of_one_machine(tmp_path, ends):
    """But for the path of the command, which is another machine's."""
    text = UNIT.read_text().replace(settings(UNIT)["ExecStart"], sys.executable)
    (tmp_path / f"specsteer-cloud{ends}").write_text(text)
    drop_in = tmp_path / "specsteer-cloud@.service.d" / "gateway.conf"
    drop_in.parent.mkdir()
    drop_in.write_text((DEPLOY / "gateway.conf").read_text())
    name = f"specsteer-cloud{ends.replace('@', '@8766')}"
    done = subprocess.run(
        ["systemd-analyze", "verify", name],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    named = re.findall(r"SPECSTEER_CLOUD_(\w+)=", drop_in.read_text())
    assert {one.lower() for one in named} < set(serve.settings)
    assert "GENERALIST_TOKENIZER" in named  # without it a gateway does not start


@needs("haproxy")
def test_haproxy_takes_its_configuration():
    words = ["haproxy", "-c", "-f", DEPLOY / "haproxy.cfg"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_compose_files_run_commands_that_there_are():
    """And HAProxy finds the gateways at the addresses that they are given."""
    two = (DEPLOY / "two-gateways.compose.yaml").read_text()
    ours = [json.loads(one) for one in re.findall(r"^  command: (.*)", two, re.M)]
    assert [complaint(["specsteer-cloud", *words]) for words in ours] == [""]
    assert "--generalist-tokenizer" in ours[0]  # without it a gateway does not start
    given = re.findall(r"ipv4_address: (\S+)", two)
    listed = re.findall(r"server \w+ (\S+):8765", (DEPLOY / "haproxy.cfg").read_text())
    assert given == listed


@needs("systemd-analyze")
def test_systemd_finds_the_unit_closed():
    """From 0, nothing can be done, to 10; a usual service has 9.6."""
    words = ["systemd-analyze", "security", "--offline=true", "--threshold=15", UNIT]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-200:]
    assert re.search(r"exposure level .*: 1\.\d OK", done.stdout)


def test_the_unit_runs_a_command_that_there_is():
    unit = settings(UNIT)
    program, *words = shlex.split(unit["ExecStart"])
    assert complaint([Path(program).name, *words]) == ""
    assert unit["Environment"] == "SPECSTEER_HOME=/var/lib/" + unit["StateDirectory"]
    (user,) = (
        line.split()[1]
        for line in (DEPLOY / "specsteer.sysusers").read_text().splitlines()
        if line.startswith("u ")
    )
    assert unit["User"] == unit["Group"] == user


def test_a_killed_server_is_back_while_devices_wait_for_it():
    """It is started again within a tenth of that time, and has the rest to load."""
    pause = settings(UNIT)["RestartSec"].removesuffix("ms")
    assert 10 * int(pause) < 1000 * sum(Patience().pauses)


def test_the_container_runs_a_command_that_there_is_as_nobody_special():
    found = instructions(DEPLOY / "Containerfile")
    last = [word for word, _ in found][::-1].index("FROM")
    stage = dict(found[-last - 1 :])
    (program,) = json.loads(stage["ENTRYPOINT"])
    assert complaint([program, *json.loads(stage["CMD"])]) == ""
    assert stage["USER"] == "specsteer"
    assert json.loads(stage["VOLUME"]) == ["/state"]
    known = {"FROM", "ARG", "ENV", "RUN", "COPY", "USER", "WORKDIR", "VOLUME", "EXPOSE"}
    known |= {"STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
    assert {word for word, _ in found} <= known


@pytest.mark.slow
def test_the_health_check_of_the_container_hears_the_server(tmp_path):
    """As it stands there, but for the port; nobody answers where none runs."""
    found = dict(instructions(DEPLOY / "Containerfile"))
    program, *words = json.loads(found["HEALTHCHECK"].partition("CMD")[2])
    assert program == "python"

    def is_well(url):
        port = url.rpartition(":")[2]
        asked = [word.replace(":8765/", f":{port}/") for word in words]
        command = [sys.executable, *asked]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0

    with household_server(tmp_path) as server:
        url = server.url
        assert is_well(url)
    assert not is_well(url)
