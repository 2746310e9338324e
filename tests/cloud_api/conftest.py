"""Servers that answer as vLLM does, for who is in front of them."""

import pytest

from tests.cloud_api.cloud_fakes import BASE, GENERALIST
from tests.cloud_api.fake_vllm import FakeVllm


@pytest.fixture
def vllm():
    fake = FakeVllm(GENERALIST)
    yield fake
    fake.stop()


@pytest.fixture
def second():
    fake = FakeVllm(BASE)
    yield fake
    fake.stop()
