"""A filled store for the tests of what happens to records."""

import pytest

from tests.personal_store.stores import fill


@pytest.fixture
def store(store, tmp_path):
    fill(store, tmp_path)
    return store
