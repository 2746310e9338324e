"""The app's colours, dark and light.

Every colour is an entry of the 256-colour palette, so it is the same in terminals that
have no more: others are mapped to the nearest entry, and a bluish grey becomes navy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from textual.theme import Theme

DARK = Theme(
    name="specsteer",
    dark=True,
    primary="#5fafd7",
    secondary="#87afaf",
    accent="#ffaf5f",
    warning="#d7af5f",
    error="#ff8787",
    success="#87af5f",
    foreground="#e4e4e4",
    background="#121212",
    surface="#1c1c1c",
    panel="#262626",
    variables={"footer-key-foreground": "#ffaf5f"},
)
LIGHT = Theme(
    name="specsteer-light",
    dark=False,
    primary="#005f87",
    secondary="#5f8787",
    accent="#af5f00",
    warning="#875f00",
    error="#af0000",
    success="#5f8700",
    foreground="#1c1c1c",
    background="#ffffff",
    surface="#eeeeee",
    panel="#e4e4e4",
    variables={"footer-key-foreground": "#af5f00"},
)


def fitting(environment: Mapping[str, str] = os.environ) -> str:
    """The name of the theme for a terminal that says how light it is, such as
    `COLORFGBG=0;15`; the dark one for all others."""
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    light = ground.isdigit() and int(ground) in (7, *range(9, 16))
    return LIGHT.name if light else DARK.name
