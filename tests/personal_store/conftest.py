"""A store of one's own for every test that asks for one."""

import pytest

from personal_store import Store
from personal_store.copies import back_up
from tests.personal_store.stores import fill


@pytest.fixture
def store(tmp_path):
    """Apart from what the test puts into its folder."""
    with Store.open(tmp_path / "store" / "store.db") as store:
        yield store


@pytest.fixture
def path(tmp_path):
    """The path of a filled store that has a backup."""
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        fill(store, tmp_path)
        back_up(store.db, path)
    return path
