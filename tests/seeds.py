"""Seeds for what must hold for every seed: few in the fast suite, many in the slow one,
the few among them."""

import pytest


def seeds(few, many):
    """The parameter `seeds` of a test."""
    more = pytest.param(range(many), id=f"{many} seeds", marks=pytest.mark.slow)
    return pytest.mark.parametrize(
        "seeds", [pytest.param(range(few), id=f"{few} seeds"), more]
    )
