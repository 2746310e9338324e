"""A store of one's own for every test that asks for one."""

import pytest

from personal_store import Store


@pytest.fixture
def store(tmp_path):
    """Apart from what the test puts into its folder."""
    with Store.open(tmp_path / "store" / "store.db") as store:
        yield store
