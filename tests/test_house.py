"""The house stays easy to follow: limits on what `python -m tests.house` counts."""

from tests import house


def test_functions_are_whole():
    """Fewer than half of the private functions have a single caller."""
    every, single = house.private_functions()
    assert single < every / 2


def test_a_method_is_asked_at_few_places():
    assert len(house.flag_reads()) < 15


def test_the_loop_is_put_together_once():
    assert len(house.loops_built()) == 1


def test_what_is_counted_is_there(tmp_path):
    """A helper of one caller and one of two, a flag, a loop."""
    folder = tmp_path / "edge_app"
    folder.mkdir()
    core = tmp_path / "decoding_core"
    core.mkdir()
    (core / "protocols.py").write_text(
        "class Method:\n    @property\n    def drafts(self): ...\n"
    )
    (folder / "one.py").write_text(
        "def _once(): ...\ndef _twice(): ...\n"
        "def whole(method):\n    _once()\n    _twice()\n    _twice()\n"
        "    if method.drafts:\n        return DecodeLoop()\n"
    )
    assert house.private_functions(tmp_path) == (2, 1)
    assert house.flag_reads(tmp_path) == ["edge_app/one.py:7 drafts"]
    assert house.loops_built(tmp_path) == ["edge_app/one.py:8"]
