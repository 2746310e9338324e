"""A training run: exact resume, its schedule, and the whole way at a tiny scale."""

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
pytest.importorskip("gguf")

from models.training.__main__ import main  # noqa: E402
from models.training.config import (  # noqa: E402
    Mixture,
    Recipe,
    Schedule,
    Shape,
    data_folder,
    recipe,
)
from models.training.optimiser import orthogonal  # noqa: E402
from models.training.train import Run, rate_factor, train, with_repeats  # noqa: E402

SHAPE = Shape(64, layers=1, width=32, heads=2, kv_heads=1, head_size=32, hidden=64)
MIXTURE = Mixture(8, 16, 2, 1, 0.5, 0.5, 0)
SCHEDULE = Schedule(64, 64 * 12, 0, 0.02, 0.004, 0.1, 0.4, 0.5, 0, 100.0)


@pytest.fixture
def plan(tmp_path):
    made = Recipe("specialist", SHAPE, MIXTURE, SCHEDULE, tmp_path)
    rng = np.random.default_rng(0)
    rows = rng.integers(4, 64, (8, 17), dtype=np.uint16)
    long_rows = rng.integers(4, 64, (2, 33), dtype=np.uint16)
    np.savez(made.rows_file, rows=rows, long=long_rows)
    return made


def test_a_resumed_run_goes_on_exactly(plan):
    """Saved after four steps and loaded again, the losses are the same to the bit."""
    unbroken = Run(plan)
    expected = [unbroken.advance() for _ in range(8)]
    first = Run(plan)
    losses = [first.advance() for _ in range(4)]
    first.save()
    second = Run(plan)
    losses += [second.advance() for _ in range(4)]
    assert losses == expected


def test_training_ends_with_its_budget_and_says_how_it_went(plan):
    """Every step leaves a line; the last one spends the last tokens."""
    train(plan)
    lines = plan.losses.read_text().splitlines()
    assert int(lines[-1].split(",")[1]) >= SCHEDULE.tokens
    assert float(lines[-1].split(",")[3]) < float(lines[0].split(",")[3])


def test_rates_rise_stay_and_fall():
    """The learning rate is a trapeze over the run."""
    shares = (0.0, 0.05, 0.2, 0.7, 1.0)
    factors = [rate_factor(share, SCHEDULE) for share in shares]
    assert factors == pytest.approx([0.0099, 0.505, 1.0, 0.5, 0.0], abs=1e-3)


def test_repeats_are_one_span_again_and_again():
    """Copying is taught by rows of which the second half is known."""
    rows = np.zeros((4, 40), np.uint16)
    repeated = with_repeats(rows, 1.0, 64, np.random.default_rng(0))
    for row in repeated:
        assert any((row[n:] == row[:-n]).all() for n in range(2, 20))
    assert (with_repeats(rows, 0.0, 64, np.random.default_rng(0)) == rows).all()


@pytest.mark.parametrize("size", [(6, 10), (10, 6)])
def test_orthogonal_directions_are_of_one_size(size):
    """Muon's steps have all singular values near one."""
    torch.manual_seed(0)
    values = torch.linalg.svdvals(orthogonal(torch.randn(*size)))
    assert 0.5 < values.min() < values.max() < 1.4


@pytest.mark.parametrize("scale", ["full", "tiny"])
def test_the_larger_model_can_grow_from_the_smaller(scale):
    """The recipes fit each other and the quantisation."""
    small, large = (recipe(n, scale).shape for n in ("specialist", "generalist"))
    assert (large.width, large.hidden) == (2 * small.width, 2 * small.hidden)
    assert large.layers >= small.layers
    assert small.vocabulary == large.vocabulary
    assert small.width % 32 == small.hidden % 32 == 0


@pytest.mark.slow
def test_the_whole_way(tmp_path):
    """Tokenizer, rows, training and export, from the real texts, in minutes."""
    if not (data_folder() / "train").is_dir():
        pytest.skip("the training texts are not there")
    arguments = ["all", "--scale", "tiny", "--work", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    made = sorted(path.name for path in tmp_path.glob("*.gguf"))
    assert made == ["generalist.gguf", "specialist.gguf"]
