"""A GGUF file as a folder of Hugging Face's libraries, its weights as float32.

    python -m benchmarks.engines.hugging_face SMALL.gguf FOLDER

So one model can be run by each engine, and by a server that reads such folders.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from decoding_core.foreign_text import gate_output


def export_folder(source: Path, folder: Path) -> None:
    """Write config, weights and tokenizer of the model at `source` into `folder`."""
    place = {
        "gguf_file": source.name,
        "local_files_only": True,
        "trust_remote_code": False,
    }
    loaded = AutoModelForCausalLM.from_pretrained(
        source.parent, dtype=torch.float32, **place
    )
    # What was read from a GGUF file calls itself quantised and is not saved; so its
    # numbers move into a model that was never read from one.
    config = loaded.config
    del config.quantization_config
    plain = type(loaded)(config)
    plain.load_state_dict(loaded.state_dict())
    plain.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(source.parent, **place)
    tokenizer.save_pretrained(folder)


def main() -> int:
    """Export the file that the command line names."""
    gate_output()
    if len(sys.argv) != 3:
        sys.stderr.write("usage: hugging_face SOURCE.gguf FOLDER\n")
        return 2
    export_folder(Path(sys.argv[1]), Path(sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
