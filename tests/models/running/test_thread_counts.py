import pytest

from decoding_core.errors import InvalidSettingsError
from models.engines.llama_cpp import LlamaContext, LlamaModel
from models.files import locate
from models.running import machine
from models.running.machine import describe_threads, fit_threads, threads_beside
from models.running.settings import EngineSettings


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    """A machine of two cores where nothing is set."""
    monkeypatch.delenv(machine.THREADS_VARIABLE)
    monkeypatch.setattr(machine, "physical_cores", lambda: 2)
    monkeypatch.setattr(machine, "default_threads", lambda: 1)


@pytest.fixture(scope="module")
def model():
    model = LlamaModel(locate("specialist"), EngineSettings(extra_buffers=False))
    yield model
    model.close()


@pytest.fixture
def context(model):
    context = LlamaContext(model, 1, 256)
    yield context
    context.close()


def fail(*_):
    pytest.fail("measured")


def test_measuring_leaves_an_empty_context(context):
    """Whether this machine was free to tell the times or not."""
    found = machine._measure(context, 3, [2, 1])
    assert context.position(0) == 0
    assert set(found) <= {1, 2}


def test_what_was_measured_beside_others_is_not_kept(home, context, monkeypatch):
    """Half of the cores are used. With one left, or over a text, none is measured."""
    monkeypatch.setattr(machine, "_measure", lambda *_: {})
    assert fit_threads(context, 1) == 1
    assert not (home / "engine-threads.json").exists()
    monkeypatch.setattr(machine, "_measure", fail)
    assert fit_threads(context, 1, most=1) == 1
    context.sequence().evaluate([5, 6])
    assert fit_threads(context, 1) == 1
    assert context.position(0) == 2


def test_a_number_that_was_set_is_left(monkeypatch, context):
    """In the settings of the model, or by the variable where these have none."""
    monkeypatch.setattr(machine, "_measure", fail)
    monkeypatch.setenv(machine.THREADS_VARIABLE, "3")
    assert fit_threads(context, 1) == 3
    assert threads_beside(context.model.path) == 3
    chosen = LlamaModel(
        locate("specialist"), EngineSettings(threads=1, extra_buffers=False)
    )
    mine = LlamaContext(chosen, 1, 256, owns_model=True)
    assert fit_threads(mine, 1) == 1
    mine.close()


@pytest.mark.parametrize("wish", ["0", "x", "513", "-1", "²"])
def test_a_variable_that_is_no_number_of_threads_is_refused(wish, monkeypatch, context):
    """With its name."""
    monkeypatch.setenv(machine.THREADS_VARIABLE, wish)
    with pytest.raises(InvalidSettingsError, match="SPECSTEER_THREADS must"):
        fit_threads(context, 1)


class Scripted:
    """A context whose steps take N milliseconds by the clock of the module."""

    def __init__(self, times, monkeypatch, share=1.0):
        self.times, self.share, self.tried = times, share, []
        self.now = self.worked = 0.0
        monkeypatch.setattr(machine.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(machine.time, "process_time", lambda: self.worked)
        self.sequence, self.rollback = lambda: self, lambda _position: None

    def use_threads(self, single, _several):
        self.count = single

    def evaluate(self, token_ids):
        self.tried.append(self.count)
        self.now += self.times[self.count] / 1000
        self.worked += self.share * self.count * self.times[self.count] / 1000


@pytest.mark.parametrize(
    ("times", "tried"),
    [
        ({8: 10.0, 4: 9.0, 2: 62.0, 1: 90.0}, [8] * 4 + [4] * 4 + [2] * 4),
        ({8: 90.0, 4: 70.0, 2: 80.0, 1: 99.0}, [8] * 4),
        ({8: 800.0, 4: 1.0, 2: 1.0, 1: 1.0}, [8]),
    ],
)
def test_measuring_ends_in_time(times, tried, monkeypatch):
    """No more numbers are tried after a while; a model that is slow with all threads is
    not run with less."""
    context = Scripted(times, monkeypatch)
    found = machine._measure(context, 1, [8, 4, 2, 1])
    assert context.tried == tried
    assert found == pytest.approx({count: times[count] for count in set(tried)})
    others = Scripted({2: 30.0, 1: 5.0}, monkeypatch, share=0.6)
    assert machine._measure(others, 1, [2, 1]) == {}  # they wanted the cores


def test_the_doctor_tells_what_is_used(monkeypatch):
    """Measured or not, set or not, and with whom the cores are shared."""
    path = locate("specialist")
    assert describe_threads(path, has_server=True) == (
        "1 of 2 cores for the specialist, until it is measured with the first text"
    )
    machine._keep(path, 1, {2: 1.04, 1: 2.0})
    assert describe_threads(path, has_server=True) == (
        "2 of 2 cores for the specialist (1: 2.0 ms, 2: 1.0 ms a token)"
    )
    assert describe_threads(path, has_server=False).endswith(
        "1 of 2 cores for the specialist (1: 2.0 ms, 2: 1.0 ms a token); "
        "1 for the server beside it"
    )
    monkeypatch.setenv(machine.THREADS_VARIABLE, "2")
    assert "SPECSTEER_THREADS" in describe_threads(path, has_server=True)


def test_the_server_beside_a_device_has_the_cores_that_are_left(monkeypatch):
    """All but those that the specialist gains by."""
    monkeypatch.setattr(machine, "physical_cores", lambda: 8)
    monkeypatch.setattr(machine, "default_threads", lambda: 4)
    path = locate("specialist")
    assert threads_beside(path) == 4
    machine._keep(path, 1, {4: 1.0, 2: 1.0, 1: 1.5})
    assert threads_beside(path) == 6
