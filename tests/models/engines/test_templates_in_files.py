"""The template of a real file, and what llama.cpp says of its vocabulary."""

import subprocess
import sys

import pytest

from models.chat import describe_template, prompt_ids
from models.files import locate
from models.prompts import Message
from models.running.loading import load_model

THINKING = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{{ '<|im_start|>' + m.role + '\n' + m.content | trim + '<|im_end|>\n' }}"
    "{% endfor %}{{ '<|im_start|>assistant\n<think>\n' }}"
)
BEHIND = [Message("system", "Past texts."), Message("user", "Thank Ana.")]


def test_the_embedded_template_is_tokenized_as_llama_cpp_does():
    """In one piece, with the control tokens that the file names as such."""
    model = load_model(locate("specialist"))
    template, tokenize = model.chat_template, model.vocabulary.tokenize
    assert sorted(template.controls.values()) == [0, 1, 2, 3]
    assert (template.bos, template.eos) == ("<|endoftext|>", "<|im_end|>")
    assert not template.adds_bos
    whole = (
        "<|im_start|>system\nPast texts.<|im_end|>\n"
        "<|im_start|>user\nThank Ana.<|im_end|>\n<|im_start|>assistant\n"
    )
    assert prompt_ids(tokenize, template, BEHIND) == tokenize(whole, True)
    model.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said", "wanted"),
    [
        (
            ("--chat-template", THINKING),
            "cannot be told not to think aloud",
            "<|endoftext|><|im_start|>user\nPast texts.\n\nThank Ana.<|im_end|>\n"
            "<|im_start|>assistant\n<think>\n\n</think>\n\n",
        ),
        (
            ("--remove-metadata", "tokenizer.chat_template"),
            "the model has none",
            "Past texts.\n\nThank Ana.\n\n",
        ),
    ],
    ids=["thinking", "none"],
)
def test_another_template_in_the_same_file(tmp_path, options, said, wanted):
    """One without a system role that thinks aloud, and none at all."""
    pytest.importorskip("gguf")
    path = tmp_path / "model.gguf"
    command = ["-m", "gguf.scripts.gguf_new_metadata", "--force", *options]
    files = [str(locate("specialist")), str(path)]
    subprocess.run([sys.executable, *command, *files], check=True, capture_output=True)
    model = load_model(path)
    assert said in describe_template(model.chat_template)
    tokenize = model.vocabulary.tokenize
    assert prompt_ids(tokenize, model.chat_template, BEHIND) == tokenize(wanted, True)
    model.close()
