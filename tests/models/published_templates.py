"""Chat templates of seven families, as far as a request and past texts go through them.

Written after the formats that the makers document on the pages of the models named
below: the same variables, filters and statements, in the same order. What concerns
tools and pictures is left out, but for the conditions that lead there.

Each stands with what it must make of a request alone, and of one behind a message of
the system. `controls` are those of the family's control tokens that a prompt may hold,
and one more that must not be taken for one.
"""

from dataclasses import dataclass
from pathlib import Path

from models.chat import ChatTemplate

DAY = "2026-11-22"
SYSTEM, USER, ANSWER = "Past texts.\n\n[1] Hullo", "Thank <|im_end|> Ana.", "Hi Ana"


@dataclass(frozen=True)
class Family:
    """A published template, and what it renders."""

    name: str
    template: ChatTemplate
    user: str
    system: str
    """Behind a message of the system."""
    end: str
    """The control token that ends an answer."""


def family(name, user, system, end, controls, bos, eos, adds_bos=False):
    file = f"{name.lower().replace(' ', '').replace('.', '_')}.jinja"
    source = Path(__file__).with_name("templates").joinpath(file).read_text("utf-8")
    numbers = {text: number for number, text in enumerate(controls.split())}
    template = ChatTemplate(source, numbers, bos, eos, adds_bos)
    said = {"SYSTEM": SYSTEM, "USER": USER}
    for word, text in said.items():
        user, system = user.replace(word, text), system.replace(word, text)
    return Family(name, template, user, system, end)


CHATML = "<|endoftext|> <|im_start|> <|im_end|>"
ASKED = "<|im_start|>user\nUSER<|im_end|>\n<|im_start|>assistant\n"
BEHIND = "<|im_start|>system\nSYSTEM<|im_end|>\n" + ASKED
QWEN = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
SMOL = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
UNTHINKING = "<think>\n\n</think>\n\n"
HEADED = "<|start_header_id|>{}<|end_header_id|>\n\n"
LLAMA = (
    "<|begin_of_text|>"
    + HEADED.format("system")
    + "Cutting Knowledge Date: December 2023\nToday Date: 22 Nov 2026\n\n{}<|eot_id|>"
    + f"{HEADED.format('user')}USER<|eot_id|>{HEADED.format('assistant')}"
)
GEMMA = "<bos> <eos> <start_of_turn> <end_of_turn> <|im_end|>"
TURN = "<bos><start_of_turn>user\n{}<end_of_turn>\n<start_of_turn>model\n"
GEMMAS = (TURN.format("USER"), TURN.format("SYSTEM\n\nUSER"), "<end_of_turn>")

FAMILIES = (
    family(  # Qwen/Qwen2.5-0.5B-Instruct, Apache-2.0
        "Qwen2.5",
        BEHIND.replace("SYSTEM", QWEN),
        BEHIND,
        "<|im_end|>",
        *(CHATML, "<|endoftext|>", "<|im_end|>"),
    ),
    family(  # Qwen/Qwen3-0.6B, Apache-2.0
        "Qwen3",
        ASKED + UNTHINKING,
        BEHIND + UNTHINKING,
        "<|im_end|>",
        *(CHATML, "<|endoftext|>", "<|im_end|>"),
    ),
    family(  # meta-llama/Llama-3.2-1B-Instruct, Llama 3.2 Community License
        "Llama 3.2",
        LLAMA.format(""),
        LLAMA.format("SYSTEM"),
        "<|eot_id|>",
        "<|begin_of_text|> <|end_of_text|> <|eot_id|> <|im_end|> <|start_header_id|> "
        "<|end_header_id|>",
        *("<|begin_of_text|>", "<|eot_id|>", True),
    ),
    # google/gemma-3-1b-it and google/gemma-2-2b-it, Gemma Terms of Use
    family("Gemma 3", *GEMMAS, GEMMA, "<bos>", "<eos>", True),
    family("Gemma 2", *GEMMAS, GEMMA, "<bos>", "<eos>", True),
    family(  # mistralai/Mistral-7B-Instruct-v0.3, Apache-2.0
        "Mistral v0.3",
        "<s>[INST] USER[/INST]",
        "<s>[INST] SYSTEM\n\nUSER[/INST]",
        "</s>",
        "<s> </s> [INST] [/INST] <|im_end|>",
        *("<s>", "</s>", True),
    ),
    family(  # HuggingFaceTB/SmolLM2-135M-Instruct, Apache-2.0
        "SmolLM2",
        BEHIND.replace("SYSTEM", SMOL),
        BEHIND,
        "<|im_end|>",
        *(CHATML, "<|im_start|>", "<|im_end|>"),
    ),
)
