"""A GGUF file with its weights as float32.

    python -m benchmarks.engines.dequantise SMALL.gguf SMALL-f32.gguf

Two engines that read the same numbers can be compared; quantised weights are multiplied
differently by each (llama.cpp rounds what they are multiplied with, too).
"""

from __future__ import annotations

import sys
from pathlib import Path

import gguf
import numpy as np

from decoding_core.foreign_text import gate_output


def dequantise(source: Path, target: Path) -> None:
    """Write the model at `source` to `target`, all tensors as float32, everything else
    as it is. Needs the package gguf."""
    reader = gguf.GGUFReader(source)
    kind = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, kind)
    skipped = {"general.architecture", "general.file_type"}
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in skipped:
            continue
        types = field.types
        sub_type = types[-1] if types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), types[0], sub_type)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        whole = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, np.ascontiguousarray(whole, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> int:
    """Dequantise the file that the command line names."""
    gate_output()
    if len(sys.argv) != 3:
        sys.stderr.write("usage: dequantise SOURCE.gguf TARGET.gguf\n")
        return 2
    dequantise(Path(sys.argv[1]), Path(sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
