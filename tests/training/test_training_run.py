"""A training run: exact resume, its schedule, its end, and the whole way, tiny."""

import csv
import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
pytest.importorskip("gguf")

from decoding_core.errors import (  # noqa: E402
    InvalidSettingsError,
    ModelNotFoundError,
    StoppedError,
)
from training import config, tokenizer  # noqa: E402
from training.__main__ import MODELS, main  # noqa: E402
from training.config import (  # noqa: E402
    Export,
    Mixture,
    Recipe,
    Schedule,
    Shape,
    recipe,
)
from training.export import export  # noqa: E402
from training.loops import AVOID  # noqa: E402
from training.run import Run, train  # noqa: E402

torch.set_num_threads(1)
SHAPE = Shape(64, layers=1, width=32, heads=2, kv_heads=1, head_size=32, hidden=64)
MIXTURE = Mixture(8, 16, 2, 2, 1, synthetic=0.5, private=0.5, repeats=0.25, seed=0)
SCHEDULE = Schedule(
    *(64, 32, 64 * 12),
    rate=0.01,
    warmup=128,
    floor=0.1,
    seed=0,
    save_minutes=100.0,
    check_every=5,
)
EXPORT = Export("Q8_0", "Q8_0")


@pytest.fixture
def plan(tmp_path):
    made = Recipe("specialist", SHAPE, "", MIXTURE, SCHEDULE, EXPORT, tmp_path)
    rng = np.random.default_rng(0)
    np.savez(
        made.rows_file,
        rows=rng.integers(4, 64, (8, 17), dtype=np.uint16),
        long=rng.integers(4, 64, (2, 33), dtype=np.uint16),
        loops=rng.integers(4, 64, (3, 17), dtype=np.uint16) + np.uint16(AVOID),
        plain=np.zeros((0, 17), np.uint16),
        held_out=rng.integers(4, 64, (4, 17), dtype=np.uint16),
    )
    return made


def steps_of(plan):
    """The lines of the file of losses, by the names of its columns."""
    with plan.losses.open(newline="") as file:
        return list(csv.DictReader(file))


def learnt(run, steps):
    return [run.advance().loss for _ in range(steps)]


def longer(plan, **changes):
    return replace(plan, schedule=replace(plan.schedule, **changes))


def test_a_stopped_run_goes_on_exactly(plan):
    """Stopped in its tenth of twelve steps, saved and loaded again: the same bits. The
    stopped step never was."""
    expected = learnt(Run(plan), 12)
    first = Run(plan)
    found = learnt(first, 9)
    first.stop.set()
    with pytest.raises(StoppedError):
        first.advance()
    first.save()
    second = Run(plan)
    assert "step 9" in second.origin
    found += learnt(second, 3)
    assert found == expected
    assert second.finished


def test_a_teacher_draws_the_pupil_near(plan, tmp_path, monkeypatch):
    """Every other step reads plain rows, and the distance from the teacher falls; the
    teacher stays as it was."""
    teacher = replace(plan, name="generalist")
    taught = Run(longer(plan, seed=7))
    learnt(taught, 12)
    taught.save()
    plan.checkpoint.rename(teacher.checkpoint)
    with np.load(plan.rows_file) as file:
        made = dict(file)
    plain = np.random.default_rng(5).integers(4, 64, (8, 17), dtype=np.uint16)
    np.savez(plan.rows_file, **made | {"plain": plain})
    monkeypatch.setattr("training.config.recipe", lambda *_: teacher)
    half = Run(longer(plan, teacher="generalist", teacher_every=2))
    kinds = []
    for _ in range(4):
        kinds.append(half._kind())
        half.advance()
    assert kinds == ["rows", "plain"] * 2
    alone = longer(plan, teacher="generalist", teacher_every=1, long_every=99)
    distances = learnt(Run(alone), 40)
    assert distances[-1] < 0.3 * distances[0]


def test_the_finished_teacher_that_is_here_teaches_where_none_was_trained(
    plan, tmp_path, monkeypatch
):
    """One of the pair is made again, and the other is read from its file; without one
    a sentence asks for it."""
    teacher = replace(plan, name="generalist")
    monkeypatch.setattr(config, "EMBEDDED", tmp_path / "embedded")
    monkeypatch.setattr(config, "recipe", lambda *_: teacher)
    with pytest.raises(ModelNotFoundError, match="--model generalist"):
        Run(longer(plan, teacher="generalist"))
    weights = Run(longer(plan, seed=7)).network.state_dict()
    tokens = ["a", "b", "ab", *(f"<{number}>" for number in range(3, SHAPE.vocabulary))]
    tokenizer.save(tokens, [("a", "b")], plan.vocabulary)
    export(teacher, weights, tmp_path / "embedded" / "generalist.gguf")
    taught = Run(longer(plan, teacher="generalist"))
    for name, weight in taught._teacher.state_dict().items():
        assert torch.allclose(weight, weights[name], atol=0.01)


def test_loops_are_unlearnt_in_the_last_part(plan):
    """Every second step then, and a resumed run goes on with the next of their rows."""
    run = Run(longer(plan, loops_from=0.5, loops_every=2))
    kinds = []
    for _ in range(12):
        kinds.append(run._kind())
        run.advance()
        run.save()
        run = Run(run.plan)
    assert kinds == [*["rows"] * 6, "loops", "long_rows", *["loops", "rows"] * 2]
    assert (run.progress.loops, run.progress.long_rows) == (3 * 4, 2)
    assert Run(plan).plan.schedule.loops_from == 1  # never, if nothing is said


def test_ctrl_c_saves_and_says_so(plan, monkeypatch):
    """The command ends with 130; what was learnt is there, handlers are as before."""
    before = signal.getsignal(signal.SIGINT)

    def interrupted(run):
        os.kill(os.getpid(), signal.SIGINT)
        return advance(run)

    advance = Run.advance
    monkeypatch.setattr(Run, "advance", interrupted)
    with pytest.raises(StoppedError, match="goes on from there"):
        train(plan)
    assert plan.checkpoint.exists()
    assert signal.getsignal(signal.SIGINT) is before


def test_training_ends_with_its_tokens(plan, capsys):
    """Every step leaves a line; held-out rows are looked at now and at the end."""
    train(plan)
    steps = steps_of(plan)
    assert [step["step"] for step in steps] == [str(n) for n in range(1, 13)]
    assert int(steps[-1]["tokens"]) >= SCHEDULE.tokens
    assert [s["step"] for s in steps if s["held_out"]] == ["5", "10", "12"]
    said = capsys.readouterr().out
    assert f"specialist  step 1, 64 of {SCHEDULE.tokens} tokens, loss " in said


def test_a_checkpoint_of_another_shape_is_refused(plan):
    """With a sentence that says what to do."""
    Run(plan).save()
    with pytest.raises(InvalidSettingsError, match="move it away"):
        Run(replace(plan, shape=replace(SHAPE, hidden=96)))


@pytest.mark.parametrize("scale", config.SCALES)
def test_the_recipes_fit_each_other_and_the_quantisation(scale):
    """One vocabulary and width; rows of matrices in blocks of 32."""
    large, small = (recipe(name, scale) for name in MODELS)
    whole = scale == "full"
    assert (large.parent, small.parent) == (
        (config.PUBLIC, config.BEFORE) if whole else ("", "")
    )
    assert small.shape.vocabulary == large.shape.vocabulary
    assert small.shape.width == large.shape.width
    if whole:
        assert small.schedule.teacher == large.name
        assert small.mixture.plain_rows
        assert small.mixture.drafted
    for plan in (large, small):
        assert plan.shape.width % 32 == plan.shape.hidden % 32 == 0
        assert plan.schedule.batch % plan.mixture.row == 0


@pytest.mark.slow
def test_the_whole_way(tmp_path):
    """Tokenizer, rows, training and export, from the real texts, in minutes."""
    if not (config.data_folder() / "train").is_dir():
        pytest.skip("the training texts are not there")
    arguments = ["all", "--scale", "tiny", "--work", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    made = sorted(path.name for path in tmp_path.glob("*.gguf"))
    assert made == ["generalist.gguf", "specialist.gguf"]
