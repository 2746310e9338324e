"""`python -m benchmarks.cost`."""

from benchmarks.cost import command
from decoding_core.foreign_text import gate_output

gate_output()
command()
