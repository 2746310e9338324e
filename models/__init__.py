"""Which models there are, where their files lie, and how to run one.

What other packages may use is in the table below, a name and its module; each is loaded
when it is asked for. Code of ours names the module, so that contracts see the arrow.
"""

import sys

# `python -m` searches the current folder first, so a file there could stand in for a
# library. Only this package is loaded by now; it stays if it lies there itself.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    _named = any(word.split(".")[0] == __name__ for word in sys.orig_argv)
    if _named and not __file__.startswith(sys.path[0]):
        del sys.path[0]

from importlib import import_module
from typing import Any

_HOME = {
    "ADAPTER_FILE": "running.adapter",
    "AdapterRecipe": "adapters.recipe",
    "Answer": "openai_api.answers",
    "ChatBody": "openai_api.schemas",
    "ChatMessage": "openai_api.schemas",
    "ChatTemplate": "chat",
    "CompletionBody": "openai_api.schemas",
    "DEVICES": "running.settings",
    "EngineSettings": "running.settings",
    "Example": "synthetic_writers.examples",
    "FinishReason": "openai_api.answers",
    "FoundModel": "local.finding",
    "HubModel": "catalogue",
    "LONGEST_TEXT": "local.memory",
    "LazyGroup": "lazy_commands",
    "Lesson": "adapters.recipe",
    "LlamaContext": "engines.llama_cpp",
    "LlamaModel": "engines.llama_cpp",
    "MARKS": "thinking",
    "Message": "prompts",
    "Model": "running.interface",
    "ModelDescription": "local.describing",
    "Offer": "hub.pulling",
    "PRECISIONS": "running.settings",
    "PersonalAdapter": "running.adapter",
    "Piece": "synthetic_writers.synthetic",
    "PromptPacker": "excerpts",
    "PullUnderWay": "local.pulled",
    "ROLES": "files",
    "Request": "prompts",
    "SlotEngine": "running.interface",
    "StopFinder": "openai_api.stop_finder",
    "TASKS": "prompts",
    "TEXTS_OF_A_SERVER": "local.memory",
    "TextResponse": "openai_api.responding",
    "TextScorer": "running.interface",
    "TextSlots": "running.interface",
    "Tokenize": "excerpts",
    "Usage": "openai_api.answers",
    "Vocabulary": "running.interface",
    "WRITERS": "folders",
    "WRITER_VARIABLE": "folders",
    "ask_hub": "hub.pulling",
    "ask_secret": "asking",
    "cards": "catalogue",
    "check_engine": "running.loading",
    "check_one_vocabulary": "running.interface",
    "check_pulled": "local.pulled",
    "choose": "asking",
    "close_to_others": "owner_only",
    "complaint": "openai_api.schemas",
    "confirm": "asking",
    "create": "owner_only",
    "default_threads": "running.settings",
    "describe": "local.describing",
    "describe_accelerators": "running.accelerators",
    "describe_template": "chat",
    "describe_threads": "running.threads",
    "described_model": "openai_api.answers",
    "differing_token": "running.interface",
    "error_body": "openai_api.answers",
    "event": "openai_api.answers",
    "exposure": "owner_only",
    "find": "files",
    "first_difference": "local.describing",
    "fit_threads": "running.threads",
    "folder_of": "local.pulled",
    "found_models": "local.finding",
    "hub_models": "catalogue",
    "known_pairs": "catalogue",
    "load_library": "engines.llama_cpp",
    "load_model": "running.loading",
    "load_reranker": "running.loading",
    "locate": "files",
    "machine_memory": "local.memory",
    "make_folder": "owner_only",
    "mark_ids": "thinking",
    "may_be_swapped": "owner_only",
    "model_list": "openai_api.answers",
    "open_private": "owner_only",
    "open_to_append": "owner_only",
    "pair_memory": "local.memory",
    "probe": "running.probe",
    "prompt_ids": "chat",
    "public_messages": "prompts",
    "pulled_folder": "local.pulled",
    "pulls_under_way": "local.pulled",
    "read_header": "gguf_header",
    "read_note": "local.pulled",
    "remove_pulled": "local.pulled",
    "render": "chat",
    "resolve": "local.finding",
    "shown_token": "running.interface",
    "start": "python_child",
    "state_folder": "folders",
    "texts_of_unseen_writer": "synthetic_writers.examples",
    "threads_beside": "running.threads",
    "token_list_id": "running.interface",
    "token_names": "local.describing",
    "unseen_writers": "synthetic_writers.examples",
    "usable_cores": "running.settings",
    "whole_number": "openai_api.schemas",
    "write_lora": "adapters.gguf_lora",
    "write_whole": "owner_only",
}
"""Which module each name comes from."""


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
