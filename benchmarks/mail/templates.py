"""Mail programs whose shape needs no more than a template: programs.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Callable

from benchmarks.mail.pieces import Bodies, in_both, quoted
from benchmarks.mail.texts import FOLDER, Draft


def _shape_of(template: str) -> Callable[[Draft, str], Bodies]:
    def shape(d: Draft, own: str) -> Bodies:
        lines = d.theirs.split("\n")
        body = template.format(
            own=own,
            theirs=d.theirs,
            quoted=quoted(d.theirs),
            marked=quoted(d.theirs, ">"),
            initial="\n".join(f"A> {line}" if line else "" for line in lines),
            indented="\n".join(f"  {line}" if line else "" for line in lines),
            who=d.who,
            mail=d.mail,
            name=d.name,
            t=d.time,
            d=d.day,
            y=d.year,
            yy=f"{d.year % 100:02}",
        )
        return in_both(body)

    return shape


TEMPLATES: dict[str, tuple[str, Callable[[Draft, str], Bodies]]] = {
    name: (entry.get("position", "top"), _shape_of(entry["plain"]))
    for name, entry in tomllib.loads(
        (FOLDER / "programs.toml").read_text("utf-8")
    ).items()
}
"""By program: where the own words stand, and the function."""
