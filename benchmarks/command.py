"""`specsteer bench`: found by its entry point, as the app knows nothing of it."""

from __future__ import annotations

import click

from edge_app.commands.lazy import LazyGroup


class _Benches(LazyGroup):
    modules = {  # noqa: RUF012 (as in the class above)
        "quality": "benchmarks.quality.command",
        "cost": "benchmarks.cost",
    }


@click.group(cls=_Benches)
def command() -> None:
    """Compare the methods on sets of texts: how good they are, what they cost."""
