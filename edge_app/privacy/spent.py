"""What was told each server on each day, in a small file beside the ledger, under the
store's key where it has one.

It is read and put in place whole under a lock, for each message that leaves: so two
processes add to one sum, and one that is killed leaves a whole file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

from base.locks import lock
from base.owner_only import open_to_append
from decoding_core.errors import InvalidSettingsError
from edge_app.config.sealed import STORE_NAME, read_file, write_file

SPENT = "sum of what was told each day"
"""What the file is, where it is sealed."""
_KEPT = timedelta(days=92)

Days = dict[str, dict[str, float]]
"""Nats by day, as in ISO 8601, and by server."""


def spent_path(ledger: Path) -> Path:
    """Where the file lies."""
    return ledger.with_name("privacy-spent.json")


def read_spent(path: Path, store: Path | None = None) -> Days:
    """All that is kept, by default of the store beside the file.

    Raises:
        InvalidSettingsError: it cannot be read.
        StoreLockedError: it is sealed, and the key of the store does not open it.
    """
    try:
        sealed = read_file(path, SPENT, store or path.with_name(STORE_NAME))
        days = json.loads(sealed.decode("utf-8"))
        found = {
            date.fromisoformat(day).isoformat(): {
                str(server): float(nats) for server, nats in servers.items()
            }
            for day, servers in days.items()
        }
        if not all(math.isfinite(n) for told in found.values() for n in told.values()):
            raise ValueError("no number")
        return found
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidSettingsError(
            f"{path} cannot be read, which holds what was told of your history each "
            "day: delete it to begin anew"
        ) from error


class SpentToday:
    """What one server was told on one day."""

    def __init__(
        self, path: Path, server: str, day: date, store: Path | None = None
    ) -> None:
        """The file lies under the key of a store, by default the one beside it."""
        self._path, self._server, self._day = path, server, day
        self._store = store or path.with_name(STORE_NAME)

    def read(self) -> float:
        """Nats so far; raises as `read_spent` does."""
        days = read_spent(self._path, self._store)
        return days.get(self._day.isoformat(), {}).get(self._server, 0)

    def add(self, nats: float) -> float:
        """Add to them; the sum, with what other processes added. Raises as `read_spent`
        does, and OSError."""
        with _locked(self._path):
            oldest = (self._day - _KEPT).isoformat()
            days = read_spent(self._path, self._store)
            days = {day: told for day, told in days.items() if day > oldest}
            today = days.setdefault(self._day.isoformat(), {})
            today[self._server] = today.get(self._server, 0.0) + nats
            data = json.dumps(days, indent=1).encode()
            write_file(self._path, data, SPENT, self._store)
        return today[self._server]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait until no other process writes the file; the system lets go of it when this
    one ends, however that happens."""
    with open_to_append(path.with_suffix(".lock")) as file:
        lock(file, wait=True)
        yield
