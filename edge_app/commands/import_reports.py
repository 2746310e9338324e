"""What an import says: sentences on stderr, the counts on stdout."""

from __future__ import annotations

import click

from decoding_core.foreign_text import one_line
from personal_store import ImportReport

_SHOWN = 20


def show_report(report: ImportReport, indent: str = "") -> None:
    """Everything worth reading but the counts."""
    lines = [*report.notes, *map(str, report.failures[:_SHOWN])]
    if len(report.failures) > _SHOWN:
        lines.append(f"and {len(report.failures) - _SHOWN:,} more failures")
    if report.details():
        lines.append(report.details())
    for line in lines:
        click.echo(indent + one_line(line), err=True)
