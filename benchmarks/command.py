"""`specsteer lab bench`: finds every measurement by the name of its file.

A file `bench_NAME.py` in a folder of a subject holds a click command called `command`:
it is `specsteer lab bench NAME`, with hyphens where the file has underscores. The other
modules of a folder are what its measurements share. The app knows nothing of this
package; an entry point of the group `specsteer.lab` leads here.
"""

from __future__ import annotations

from pathlib import Path

import click

from models.command_line import LazyGroup

SUBJECTS = {
    "quality": "How good the texts of each method are",
    "content": "Whether a text says what was asked",
    "privacy": "What a server can tell of a history",
    "speed": "Where the time goes",
    "load": "The server with many users",
    "store": "The store of past writing",
}
"""The folders, in the order in which they are shown, each with its heading."""


def measurements() -> dict[str, dict[str, str]]:
    """The module of each measurement, by its name, by subject."""
    here = Path(__file__).parent
    return {
        subject: {
            path.stem.removeprefix("bench_").replace("_", "-"): (
                f"{__package__}.{subject}.{path.stem}"
            )
            for path in sorted((here / subject).glob("bench_*.py"))
        }
        for subject in SUBJECTS
    }


class _Benches(LazyGroup):
    modules = {  # noqa: RUF012 (as in the class above)
        name: module
        for found in measurements().values()
        for name, module in found.items()
    }
    headings = {  # noqa: RUF012 (as in the class above)
        SUBJECTS[subject]: tuple(found) for subject, found in measurements().items()
    }


@click.group(cls=_Benches)
def command() -> None:
    """Measure: how good the methods are, what they cost, how fast all of it is.

    Everything runs on this machine, without a network. Tables go to standard output;
    --help after a name says what is measured and how to read it.

    \b
        specsteer lab bench quality --data eval/ --users 5
        specsteer lab bench latency
    """
