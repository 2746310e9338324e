import gc
import itertools
import os
from dataclasses import replace

import pytest
from _pytest.unraisableexception import gc_collect_iterations_key
from hypothesis import HealthCheck, settings

from models import gguf_header
from models.files import locate
from models.running.settings import default_threads

EXAMPLES = 15
"""Of each property in the fast tests; other ones in each run."""
# `--hypothesis-profile=thorough` looks long for what so few examples do not show.
# A fixture of a function may be shared by its examples.
SHARED = HealthCheck.function_scoped_fixture
settings.register_profile(
    "project", deadline=None, max_examples=EXAMPLES, suppress_health_check=[SHARED]
)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=10_000,
    suppress_health_check=[SHARED, HealthCheck.too_slow],
)
settings.load_profile("project")

# A pool of threads for algebra in each of hundreds of processes only burns time.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# No test measures by accident how fast this machine is while others run.
os.environ["SPECSTEER_THREADS"] = str(default_threads())
# The servers of the tests are on this machine: no proxy leads to them.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"


def pytest_configure(config):
    """At its end each process looks for garbage once, not five times: what hides behind
    other garbage longer than that is of PyPy."""
    config.stash[gc_collect_iterations_key] = 1


def pytest_collection_modifyitems(items):
    """In the thorough profile also the tests that chose a number for the usual one."""
    wanted = settings.default.max_examples
    if wanted <= EXAMPLES:
        return
    for item in items:
        test = getattr(item, "obj", None)
        if getattr(test, "is_hypothesis_test", False):
            name = "_hypothesis_internal_use_settings"
            of_test = getattr(test, "__func__", test)
            if hasattr(test, name):
                more = settings(getattr(test, name), max_examples=wanted)
                setattr(of_test, name, more)
            else:  # a state machine
                item.cls.settings = settings(item.cls.settings, max_examples=wanted)


@pytest.fixture(scope="session", autouse=True)
def headers_read_once():
    """Of the embedded models, which hundreds of tests load."""
    embedded = {str(locate(role)) for role in ("specialist", "generalist")}
    read, known = gguf_header._Reader.layout, {}

    def layout(reader):
        name = getattr(reader.file, "name", "")
        found = known.get(str(name)) or read(reader)
        if str(name) in embedded:
            known[str(name)] = found
        return replace(found, values=dict(found.values), tensors=dict(found.tensors))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gguf_header._Reader, "layout", layout)
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory):
    """Paths that nobody has used. `mktemp` would look through all the folders of the
    run for each, which takes seconds in thousands of tests."""
    parent = tmp_path_factory.mktemp("homes")
    return (parent / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def home(homes, monkeypatch):
    """Every test has a state folder of its own and no settings of the person's."""
    folder = next(homes)
    folder.mkdir(0o700)
    monkeypatch.setenv("SPECSTEER_HOME", str(folder))
    # A test that asks a keyring brings its own.
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    for name in ("SPECSTEER_TOKEN", "SPECSTEER_CLOUD_TOKEN", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One process more than cores: some tests wait for other processes."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish(session):
    """What the collection made lives to the end: the collector of garbage need not
    look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
