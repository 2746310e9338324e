import pytest

from decoding_core.methods import available, build
from decoding_core.settings import MethodSettings
from edge_app.retrieval.context import Prompts
from edge_app.service.text_job import as_read

PROMPTS = Prompts((1, 2), (9, 1, 2), ())
OTHERS = {
    "specialist_without_history": ((1, 2), (1, 2)),
    "generalist_with_history": ((9, 1, 2), (9, 1, 2)),
}


@pytest.mark.parametrize("name", available())
def test_each_model_reads_what_the_method_says(name):
    """The public prompt goes to the server, the private one to the specialist, but for
    two baselines; notes are a part of the private one."""
    method = build(MethodSettings(method=name, temperature=1.0))
    read = as_read(PROMPTS, method)
    expected = OTHERS.get(name, ((1, 2), (9, 1, 2)))
    assert (read.public_ids, read.private_ids) == expected
