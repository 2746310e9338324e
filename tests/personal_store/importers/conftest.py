"""What tests of importers share."""

import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from personal_store import import_source
from tests.personal_store.stores import lay


@pytest.fixture
def take(store, tmp_path):
    """Writes a file, imports it with an importer, and gives the report."""

    def take(kind, name, content, **options):
        path = lay(tmp_path, {name: content}) / name
        return import_source(store, kind, path, **options)

    return take


@pytest.fixture
def pack():
    """A function that lays a folder down below others, in a zip, in a zip inside one,
    or in a tar; as a folder it stays as it is."""

    def pack(folder, kind, target):
        if kind == "folder":
            return folder
        if kind == "nested folder":
            shutil.copytree(folder, target / "a" / "b" / folder.name)
            return target
        target.mkdir()
        inner = Path(shutil.make_archive(str(target.parent / "in"), "zip", folder))
        if kind == "zip":
            shutil.move(inner, target / "export.zip")
        elif kind == "zip in a zip":
            with zipfile.ZipFile(target / "all.zip", "w") as outer:
                outer.write(inner, "2026/export.zip")
        else:
            with tarfile.open(target / "export.tgz", "w:gz") as packed:
                packed.add(folder, "export")
        return target

    return pack
