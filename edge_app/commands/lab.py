"""`specsteer lab`."""

from __future__ import annotations

import click

from edge_app.commands.installed import LAB, OpenGroup


class _Lab(OpenGroup):
    entries = LAB
    modules = {  # noqa: RUF012 (as in the class above)
        "evaluate": "edge_app.commands.evaluate",
        "tune": "edge_app.commands.tune",
        "adapter": "edge_app.commands.adapter",
    }


@click.group("lab", cls=_Lab)
def command() -> None:
    """Measure, tune and train: what writing a letter does not need.

    \b
        specsteer lab evaluate --sample
        specsteer lab tune --write
        specsteer lab adapter train
        specsteer lab bench --help
    """
