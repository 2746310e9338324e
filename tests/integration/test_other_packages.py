"""Another package adds a method and an importer by entry points."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from decoding_core import methods
from decoding_core.errors import UnknownMethodError
from decoding_core.methods.specialist import Specialist as SpecialistMethod
from decoding_core.settings import MethodSettings
from personal_store import Store, import_source, importers
from personal_store.errors import UnknownImporterError

ADDED = """
from decoding_core.methods.specialist import Specialist as Ours
from personal_store.importers.documents import text

sources, read = text.sources, text.read

class Theirs(Ours):
    summary = "As specialist, but theirs."
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package `their_words` with what it adds, as its metadata would say."""
    (tmp_path / "their_words.py").write_text(ADDED)
    (tmp_path / "their_torn_words.py").write_text('raise ValueError("one\\ntwo")')
    monkeypatch.syspath_prepend(tmp_path)
    points = EntryPoints(
        [
            EntryPoint("theirs", "their_words:Theirs", methods.GROUP),
            EntryPoint("broken", "their_words:Nothing", methods.GROUP),
            EntryPoint("specialist", "their_words:Theirs", methods.GROUP),
            EntryPoint("diary", "their_words", importers.GROUP),
            EntryPoint("torn", "their_torn_words", methods.GROUP),
            EntryPoint("broken", "no_such_module", importers.GROUP),
            EntryPoint("torn", "their_torn_words", importers.GROUP),
        ]
    )
    for where in (methods, importers):
        monkeypatch.setattr(where, "entry_points", points.select)
        where.available.cache_clear()
    yield
    for where in (methods, importers):
        where.available.cache_clear()


def test_a_method_of_another_package(installed):
    """It is listed and built as ours are; a name of ours stays ours."""
    assert "theirs" in methods.available()
    assert methods.summary("theirs") == "As specialist, but theirs."
    built = methods.build(MethodSettings(method="theirs"))
    assert isinstance(built, SpecialistMethod)
    ours = methods.build(MethodSettings(method="specialist"))
    assert type(ours) is SpecialistMethod
    with pytest.raises(UnknownMethodError, match="'broken' of another package"):
        methods.build(MethodSettings(method="broken"))
    with pytest.raises(UnknownMethodError, match="theirs"):
        methods.build(MethodSettings(method="gone"))
    with pytest.raises(UnknownMethodError, match=r"ValueError: one two$"):
        methods.build(MethodSettings(method="torn"))


def test_an_importer_of_another_package(installed, tmp_path):
    """It reads as ours do; what is raised is one line, here too."""
    page = tmp_path / "page.txt"
    page.write_text("The boat in the harbour was late, and nobody minded it.")
    with Store.open(tmp_path / "store.db") as store:
        assert import_source(store, "diary", page).added == 1
        with pytest.raises(UnknownImporterError, match="'broken' of another package"):
            import_source(store, "broken", page)
        with pytest.raises(UnknownImporterError, match=r"ValueError: one two\.$"):
            import_source(store, "torn", page)
