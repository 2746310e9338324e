"""The embedded pair with its weights as float32, for each engine, and where two
engines that read these same numbers may still part."""

import math
from pathlib import Path

import numpy as np

from decoding_core.methods.steering import log_steered
from decoding_core.sampling import log_softmax
from edge_app.evaluation.cases import passages
from edge_app.retrieval.context import PromptBuilder
from models.files import locate
from models.synthetic_writers.examples import unseen_writers


def prompts_of(model, example, max_tokens):
    """Both prompts of a request, the history as it was found, best first."""
    builder = PromptBuilder(model.vocabulary.tokenize, model.chat_template, 2048)
    return builder.build(
        example.request,
        passages(example.excerpts[::-1]),
        example.background,
        max_tokens,
    )


def emails_asked_for(count, seed):
    """Requests for emails by synthetic writers, to somebody the request names."""
    made = unseen_writers(3 * count, seed, "email")
    return [one for one in made if one.request.recipient][:count]


def dequantise(source, target):
    """Write the GGUF file `source` to `target` with all tensors as float32."""
    import gguf

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


def export_folder(source, folder):
    """Write config, weights and tokenizer of a GGUF file as Hugging Face's libraries
    read them."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

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


def exported(folder: Path):
    """The embedded pair as float32, by engine and role."""
    found = {"llama_cpp": {}, "transformers": {}}
    for role in ("specialist", "generalist"):
        file, kept = folder / f"{role}-f32.gguf", folder / role
        dequantise(locate(role), file)
        export_folder(locate(role), kept)
        found["llama_cpp"][role], found["transformers"][role] = file, kept
    return found


def margin(private, large, base, settings):
    """How far what steering decides at a place is from being decided otherwise, in
    nats, from log-probabilities (V,): the specialist's two likeliest tokens, the ratio
    of the drafted one and the threshold, the target's two likeliest."""
    drafted = int(private.argmax())
    target = log_steered(private, large, base, settings.strength)
    gaps = [float(np.subtract(*np.sort(row)[:-3:-1])) for row in (private, target)]
    ratio = float(large[drafted] - base[drafted])
    return min(*gaps, abs(ratio - math.log(settings.threshold)))


def opinions(readers, token_ids):
    """Log-probabilities (V,) of specialist, generalist and base after a text."""
    found = []
    for engine, prompt in (
        (readers.specialist, readers.private_ids),
        (readers.generalist, readers.public_ids),
        (readers.base, readers.public_ids),
    ):
        engine.rollback(0)
        found.append(log_softmax(engine.evaluate([*prompt, *token_ids])[0]))
    return found
