import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None, max_examples=60)
settings.load_profile("project")


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    """Every test has a state folder of its own and no settings of the person's."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("SPECSTEER_HOME", str(folder))
    for name in ("SPECSTEER_TOKEN", "SPECSTEER_CLOUD_TOKEN", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return folder
