"""How the commands show users, devices and times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import click

from cloud_api.people.people import Device, People
from decoding_core.foreign_text import one_line
from models.folders import state_folder


def open_people() -> People:
    """The people of the household whose server works from the state folder; raises
    PeopleError."""
    return People(state_folder())


def plain_time(seconds: int | None) -> str | None:
    """The same for programs, in UTC."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def plain_device(device: Device) -> dict[str, object]:
    """A device as JSON has it."""
    return {
        "id": device.id,
        "user": device.user,
        "name": device.name,
        "scopes": sorted(device.scopes),
        "origin": device.origin,
        "created": plain_time(device.created),
        "last_used": plain_time(device.last_used),
        "expires": plain_time(device.expires),
        "revoked": plain_time(device.revoked),
    }


def echo_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows in columns as wide as what they hold."""
    lines = [[one_line(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (cell.ljust(n) for cell, n in zip(line, widths, strict=True))
        click.echo("  ".join(padded).rstrip())
