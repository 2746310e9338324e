"""What a text costs: operations against the length of the history, bytes on the wire.

`python -m benchmarks.cost`, or `specsteer bench cost`; docs/bench.md describes it.
"""

from benchmarks.cost.cli import command

__all__ = ["command"]
