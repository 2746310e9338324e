"""What tests of importers share."""

import pytest

from personal_store import import_source


@pytest.fixture
def take(store, tmp_path):
    """Writes a file, imports it with an importer, and gives the report."""

    def take(kind, name, content, **options):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return import_source(store, kind, path, **options)

    return take
