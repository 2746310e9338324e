"""Which columns of a table hold what, remembered for tables of the same shape."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from sqlite_utils import Database

from personal_store.database.migrations import immediate


def remembered(db: Database, names: Sequence[str]) -> dict[str, str]:
    """What a person or a guess made of a table with these columns; empty if nothing."""
    row = db.execute("SELECT value FROM state WHERE name = ?", [_name(names)])
    found = row.fetchone()
    return dict(json.loads(found[0])) if found else {}


def remember(db: Database, names: Sequence[str], mapping: Mapping[str, str]) -> None:
    """Keep it for the next table with the same columns, in whatever order."""
    with immediate(db):
        db.execute(
            "INSERT OR REPLACE INTO state VALUES (?, ?)",
            [_name(names), json.dumps(dict(mapping))],
        )


def described(name: str, mapping: Mapping[str, str], known: bool, told: bool) -> str:
    """The sentence that shows the person what is read from where."""
    columns = ", ".join(
        f"{field}={column}" for field, column in mapping.items() if column
    )
    if told:
        return f"{name}: {columns}; remembered for files with these columns"
    why = "as the last time" if known else "guessed"
    return f"{name}: {columns} ({why}; --map FIELD=COLUMN changes it)"


def _name(names: Sequence[str]) -> str:
    shape = json.dumps(sorted(name.casefold() for name in names))
    return "columns " + hashlib.sha256(shape.encode()).hexdigest()
