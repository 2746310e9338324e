"""What is made is for its owner alone, and nothing goes through what others planted."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from base import owner_only
from base.owner_only import (
    close_to_others,
    create,
    exposure,
    make_folder,
    may_be_swapped,
    open_private,
    open_to_append,
    write_whole,
)
from models.folders import state_folder


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def appended(path):
    with open_to_append(path) as file:
        file.write("x\n")


def opened(path):
    os.close(open_private(path, os.O_RDWR | os.O_CREAT))


WRITERS = [
    appended,
    opened,
    lambda path: create(path).close(),
    lambda path: write_whole(path, b"x"),
]


@pytest.mark.parametrize("write", WRITERS)
def test_what_is_made_is_private(tmp_path, umask, write):
    """With the folders above it that lack, whatever the umask."""
    make_folder(tmp_path / "a" / "b")
    write(tmp_path / "a" / "b" / "file")
    made = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "file"]
    assert list(map(mode, made)) == [0o700, 0o700, 0o600]
    assert [f.name for f in (tmp_path / "a" / "b").iterdir()] == ["file"]


def test_a_name_that_is_taken_is_not_written_to(tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(FileExistsError):
        create(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "precious"


def test_a_link_is_told(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="it is a link and may lead anywhere"):
        open_to_append(tmp_path / "link")


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("there", [True, False])
def test_nothing_is_written_through_a_planted_link(tmp_path, write, there):
    """Neither into a file that is there, nor into one that the link would make."""
    target, link = tmp_path / "target", tmp_path / "link"
    if there:
        target.write_text("precious")
    link.symlink_to(target)
    with suppress(OSError):
        write(link)
    assert target.exists() == there
    assert not there or target.read_text() == "precious"


def test_only_ones_own_files_are_added_to(tmp_path, monkeypatch):
    """A pipe, a device or another user's file may wait under the name."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"is no file|No such device"):
        open_to_append(tmp_path / "pipe")
    with pytest.raises(OSError, match="is no file"):
        open_to_append(Path(os.devnull))
    (tmp_path / "file").write_text("theirs")
    monkeypatch.setattr(owner_only.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(OSError, match="somebody else"):
        open_to_append(tmp_path / "file")


def test_a_file_that_was_open_to_others_is_closed_when_it_is_added_to(tmp_path):
    (tmp_path / "ledger").write_text("old\n")
    (tmp_path / "ledger").chmod(0o666)
    appended(tmp_path / "ledger")
    assert mode(tmp_path / "ledger") == 0o600
    assert (tmp_path / "ledger").read_text() == "old\nx\n"


def test_a_file_is_put_in_place_whole_or_not_at_all(tmp_path, monkeypatch):
    """What was there stays, and no part is left over."""
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o644)

    def full(*_):
        raise OSError("no space left")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space"):
        patch.setattr(owner_only.Path, "replace", full)
        write_whole(path, b"new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_whole(path, b"new")
    assert (path.read_text(), mode(path)) == ("new", 0o600)


@pytest.mark.parametrize(
    ("rights", "words"),
    [(0o700, ""), (0o755, "can be read"), (0o711, "can be read"), (0o770, "changed")],
)
def test_what_others_can_do_is_said(tmp_path, rights, words):
    tmp_path.chmod(rights)
    assert words in exposure(tmp_path)
    assert bool(words) == bool(exposure(tmp_path))
    close_to_others(tmp_path)
    assert (mode(tmp_path), exposure(tmp_path)) == (0o700, "")


def test_what_is_somebody_elses_is_left_alone(tmp_path, monkeypatch):
    """And told."""
    tmp_path.chmod(0o755)
    monkeypatch.setattr(owner_only.os, "geteuid", lambda: os.getuid() + 1)
    close_to_others(tmp_path)
    assert mode(tmp_path) == 0o755
    assert "another user" in exposure(tmp_path)


@pytest.mark.parametrize(
    ("rights", "swapped"),
    [(0o700, False), (0o755, False), (0o775, False), (0o777, True), (0o1777, False)],
)
def test_where_another_file_could_take_the_place_of_ours(tmp_path, rights, swapped):
    tmp_path.chmod(rights)
    assert may_be_swapped(tmp_path) == swapped


def test_the_usual_folder_is_closed_where_it_was_open(tmp_path, monkeypatch, umask):
    """Also with texts in it; older versions and other programs may have made it."""
    monkeypatch.delenv("SPECSTEER_HOME")
    monkeypatch.setattr("models.folders.user_data_path", lambda _: tmp_path / "s" / "x")
    assert mode(state_folder()) == mode(tmp_path / "s") == 0o700
    (tmp_path / "s" / "x" / "store.db").touch()
    (tmp_path / "s" / "x").chmod(0o755)
    assert mode(state_folder()) == 0o700


@pytest.mark.parametrize(
    ("holds", "rights", "then"),
    [([], 0o755, 0o700), (["letter.txt"], 0o755, 0o755), ([], 0o1777, 0o1777)],
)
def test_a_folder_that_was_named_may_hold_other_things(
    tmp_path, monkeypatch, holds, rights, then
):
    """It is closed only while it is empty, and never where it is shared on purpose."""
    folder = tmp_path / "named"
    folder.mkdir()
    folder.chmod(rights)
    for name in holds:
        (folder / name).touch()
    monkeypatch.setenv("SPECSTEER_HOME", str(folder))
    assert mode(state_folder()) == then


def test_what_is_no_file_is_written_into_and_stays(tmp_path):
    """As /dev/null must: whoever names it with root's rights would lose it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, b"new")
    assert os.read(reader, 9) == b"new"
    os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
