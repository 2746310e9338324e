"""`python -m benchmarks.cost`."""

from benchmarks.cost import command

command()
