"""A server for all tests of a file, and a client of it."""

import pytest

from tests.cloud_api.cloud_fakes import client_of, running


@pytest.fixture(scope="module")
def server():
    with running(known_sessions=500) as server:
        yield server


@pytest.fixture
def client(server):
    with client_of(server) as client:
        yield client
