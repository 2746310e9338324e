"""How much memory the machine has, and whether models fit into it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.local.describing import ModelDescription

TEXTS_OF_A_SERVER = 4
"""For so many texts the server that a device starts makes room."""
LONGEST_TEXT = 8192
"""Tokens for which device and server make room, where the model can read as many."""

Fit = Literal["fits", "tight", "too large"]
_MEMINFO = Path("/proc/meminfo")
_LIMIT = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """Bytes of memory; 0 where the system does not say."""

    total: int
    """Of the machine, or of what a container may use."""
    available: int
    """Not used by other programs now; the total where that is not known."""

    def fit(self, needed: int) -> Fit | None:
        """Whether so many bytes fit: `tight` means only without what runs now. None
        where the machine's memory is not known."""
        if not self.total:
            return None
        if needed <= self.available:
            return "fits"
        return "tight" if needed <= self.total else "too large"


def machine_memory() -> MachineMemory:
    """What this machine has, or the container that this process is in."""
    told = _meminfo()
    total = told.get("MemTotal", 0) or _physical()
    available = told.get("MemAvailable", total)
    try:
        limit = int(_LIMIT.read_text("ascii"))
    except (OSError, ValueError):  # "max": no limit
        limit = total
    return MachineMemory(min(total, limit), min(available, limit))


def pair_memory(small: ModelDescription, large: ModelDescription) -> int:
    """Bytes that a pair takes on one machine: the device reads one text; its server
    makes room for several, with the large model and with the small one as base, whose
    weights both processes share."""
    length = min(one.context_length or LONGEST_TEXT for one in (small, large))
    length = min(length, LONGEST_TEXT)
    base = TEXTS_OF_A_SERVER * length * small.cache_bytes
    return small.memory(length) + base + large.memory(length, TEXTS_OF_A_SERVER)


def _meminfo() -> dict[str, int]:
    found = {}
    try:
        for line in _MEMINFO.read_text("ascii").splitlines():
            name, _, rest = line.partition(":")
            words = rest.split()
            if len(words) == 2 and words[1] == "kB":
                found[name] = int(words[0]) << 10
    except (OSError, ValueError):
        return {}
    return found


def _physical() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0
