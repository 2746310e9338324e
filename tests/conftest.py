import itertools

import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None, max_examples=60)
settings.load_profile("project")


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
