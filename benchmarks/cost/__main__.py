"""`python -m benchmarks.cost`."""

from benchmarks.cost import command
from decoding_core.gated_streams import gate_output

gate_output()
command()
