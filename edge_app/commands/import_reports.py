"""What an import tells: narration on stderr, the counts on stdout."""

from __future__ import annotations

import click

from personal_store import ImportReport

_SHOWN = 20


def narrate(report: ImportReport) -> None:
    """Everything worth reading but the counts."""
    for note in report.notes:
        click.echo(note, err=True)
    for failure in report.failures[:_SHOWN]:
        click.echo(str(failure), err=True)
    if len(report.failures) > _SHOWN:
        click.echo(f"and {len(report.failures) - _SHOWN} more failures", err=True)
    if report.details():
        click.echo(report.details(), err=True)


def joined(reports: list[ImportReport]) -> ImportReport:
    """The counts of several imports as those of one."""
    total = ImportReport()
    for report in reports:
        total.added += report.added
        total.updated += report.updated
        total.received += report.received
        total.failures += report.failures
        total.reasons += report.reasons
    return total
