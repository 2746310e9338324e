"""Zips and tars, one inside another; what is hostile or damaged is one sentence."""

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personal_store import SourceError, Store, import_source, importing
from personal_store import files as sources
from personal_store.files import locate
from tests.mailboxes import mailbox, many, message
from tests.personal_store.stores import content, damaged, lay, stopping, zipped

MBOX = mailbox([message(number=1), message("Another text, of work.", number=2)])


def tar(*members, name="Takeout/Mail/Sent.mbox") -> bytes:
    """An uncompressed tar; bytes become a file, TarInfo is taken as it is."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as packed:
        for member in members:
            if isinstance(member, bytes):
                info = tarfile.TarInfo(name)
                info.size = len(member)
                packed.addfile(info, io.BytesIO(member))
            else:
                packed.addfile(member)
    return target.getvalue()


FORMS = {
    "a.tar": tar(MBOX),
    "a.tgz": gzip.compress(tar(MBOX)),
    "a.tar.gz": gzip.compress(tar(MBOX)),
    "a.tar.bz2": bz2.compress(tar(MBOX)),
    "a.tar.xz": lzma.compress(tar(MBOX)),
    "a.zip": zipped({"Takeout/Mail/Sent.mbox": MBOX}),
    "zip in.zip": zipped({"part1.zip": zipped({"Mail/Sent.mbox": MBOX})}),
    "tgz in.zip": zipped({"part1.tgz": gzip.compress(tar(MBOX))}),
    "tar in.zip": zipped({"part1.tar": tar(MBOX)}),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_read(store, tmp_path, name):
    """By its path, and lying in a folder; the second time adds nothing."""
    folder = lay(tmp_path / "downloads", {name: FORMS[name]})

    first = import_source(store, "mbox", folder / name)
    second = import_source(store, "mbox", folder)

    assert (first.added, first.failed) == (2, 0)
    assert (second.added, second.skipped, second.failed) == (0, 2, 0)
    assert {p.source for p in store.recent()} == {"mbox: Sent.mbox"}


LONG = mailbox(many(120))
LONG_FORMS = {
    "a.tar": tar(LONG),
    "a.zip": zipped({"Sent.mbox": LONG}),
    "tgz in.zip": zipped({"a.tgz": gzip.compress(tar(LONG))}),
    "zip in.zip": zipped({"a.zip": zipped({"Sent.mbox": LONG})}),
}


@pytest.mark.parametrize("name", LONG_FORMS)
def test_a_stopped_import_of_an_archive_goes_on(store, tmp_path, monkeypatch, name):
    """From the message where it stopped, with the rows of an undisturbed one."""
    monkeypatch.setattr(importing, "BATCH", 10)
    path = tmp_path / name
    path.write_bytes(LONG_FORMS[name])
    with Store.open(tmp_path / "clean.db") as clean:
        import_source(clean, "mbox", path)
        expected = content(clean)

    with pytest.raises(KeyboardInterrupt):
        import_source(store, "mbox", path, progress=stopping(0.5))
    report = import_source(store, "mbox", path)

    assert ": going on at 4" in report.notes[0]
    assert content(store) == expected


def entry(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def named(name, mode=stat.S_IFREG):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return zipped({info: b"x"})


def long_name() -> bytes:
    """The tar format allows a name of any length, read in one go."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 4_000_000_000
    return gzip.compress(info.tobuf() + bytes(5000))


def locked() -> bytes:
    """The bit that says "password" set in both places where a zip has it."""
    data = bytearray(zipped({"a.mbox": MBOX}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


HOSTILE = {
    "tar up.tar": (tar(entry("../../etc/passwd")), "leads out of the archive"),
    "tar absolute.tar": (tar(entry("/etc/passwd")), "leads out of the archive"),
    "tar drive.tar": (tar(entry("C:\\boot.ini")), "leads out of the archive"),
    "tar link.tar": (tar(entry("a", tarfile.SYMTYPE, "/etc")), "is a link"),
    "tar hard link.tar": (tar(entry("a", tarfile.LNKTYPE, "b")), "is a link"),
    "tar device.tar": (tar(entry("a", tarfile.CHRTYPE)), "a device"),
    "tar pipe.tgz": (gzip.compress(tar(entry("a", tarfile.FIFOTYPE))), "a device"),
    "zip up.zip": (named("a/../../x"), "leads out of the archive"),
    "zip absolute.zip": (named("/x"), "leads out of the archive"),
    "zip link.zip": (named("a", stat.S_IFLNK), "is a link"),
    "password.zip": (locked(), "protected by a password"),
    "bomb.zip": (lambda: zipped({"a.mbox": bytes(130_000_000)}), "far too much"),
    "name.tgz": (long_name(), "far too much"),
    "bomb.tgz": (gzip.compress(b"\x1f" + bytes(2_000_000), 9), "cannot be read"),
    "no zip.zip": (b"this is text" * 99, "cannot be read"),
    "no tar.tgz": (b"this is text" * 99, "cannot be read"),
    "torn.tgz": (gzip.compress(tar(MBOX * 50))[:-300], "cannot be read"),
    "torn.zip": (zipped({"a.mbox": MBOX * 50})[:-60], "was it downloaded to its end"),
    "mail.pst": (b"!BDN" + bytes(600), "import pst"),
    "mail.7z": (b"7z" + bytes(600), "unpack it"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_or_damaged_archive_is_one_sentence(store, tmp_path, name):
    data, sentence = HOSTILE[name]
    (tmp_path / name).write_bytes(data() if callable(data) else data)

    with pytest.raises(SourceError, match=sentence) as caught:
        import_source(store, "mbox", tmp_path / name)

    assert str(caught.value).count(". ") == 0
    assert not list(store.records())


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize(
    ("limit", "value", "sentence"),
    [("MAX_TOTAL", 3_000_000, "far too much"), ("MAX_MEMBERS", 5, "too many files")],
)
def test_a_bomb_of_many_members_is_refused(
    tmp_path, monkeypatch, wanted, limit, value, sentence
):
    """Each of them small, whether they are read or only passed over."""
    monkeypatch.setattr(sources, limit, value)
    packed = tar(*(bytes(1_000_000) for _ in range(8)))
    members = {f"m{i}": b"ab" * 500_000 for i in range(8)}
    lay(tmp_path, {"a.tgz": gzip.compress(packed), "a.zip": zipped(members)})

    for name in ("a.tgz", "a.zip"):
        with pytest.raises(SourceError, match=sentence):
            locate(tmp_path / name, lambda _: wanted, "file")


def test_a_broken_archive_in_a_folder_does_not_spoil_the_rest(store, tmp_path):
    """It is a failure in the report, like any other record."""
    deep = zipped({"b.zip": zipped({"Sent.mbox": MBOX})})
    inner = {"a.zip": deep, "inner.zip": named("../x"), "Sent.mbox": MBOX}
    files = {"one.mbox": MBOX, "two.zip": b"PK, no zip", "three.zip": zipped(inner)}

    report = import_source(store, "mbox", lay(tmp_path / "all", files))

    assert (report.added, report.skipped, report.failed) == (2, 2, 3)
    too_deep, leads_out, _ = map(str, report.failures)
    assert "packed too deep" in too_deep
    assert "leads out of the archive" in leads_out


def test_no_room_to_unpack_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROOM", 10**18)
    (tmp_path / "a.tgz").write_bytes(gzip.compress(tar(MBOX)))

    with pytest.raises(SourceError, match="There is no room in"):
        locate(tmp_path / "a.tgz", lambda _: True, "file")


def test_nothing_unpacked_is_left_behind(store, tmp_path, monkeypatch):
    """Not even while it is read: the file has no name."""
    monkeypatch.setattr(sources.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "a.tgz").write_bytes(gzip.compress(tar(MBOX)))
    seen = []

    def look(*_):
        seen.append(list((tmp_path / "temporary").iterdir()))

    import_source(store, "mbox", tmp_path / "a.tgz", progress=look)

    assert seen
    assert not any(seen)


def test_names_that_are_no_text_can_be_read(store, tmp_path):
    """Linux allows any bytes; the store and the screen do not."""
    name = b"M\xfcll.mbox".decode("utf-8", "surrogateescape")
    try:
        (tmp_path / name).write_bytes(MBOX)
    except OSError:
        pytest.skip("this file system refuses such names")

    assert import_source(store, "mbox", tmp_path).added == 2


@settings(max_examples=25)
@given(data=st.data(), name=st.sampled_from(["a.tgz", "a.tar", "a.zip", "zip in.zip"]))
def test_no_bytes_raise_anything_but_a_sentence(tmp_path, data, name):
    path = tmp_path / name
    path.write_bytes(damaged(data, FORMS[name]))

    with suppress(SourceError, OSError, *sources.UNREADABLE):
        for source in locate(path, lambda _: True, "file"):
            if not source.fault:
                source.head()
