"""A filled store for the tests of what happens to records."""

import pytest

from personal_store import Store
from tests.personal_store.stores import fill


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.db") as store:
        fill(store, tmp_path)
        yield store
