"""The training tokenizer and llama.cpp must read every text alike."""

import ctypes

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

pytest.importorskip("tokenizers")
llama_cpp = pytest.importorskip("llama_cpp")

from models.chat import prompt_ids, render  # noqa: E402
from models.engines.llama_cpp import LlamaModel  # noqa: E402
from models.prompts import Message  # noqa: E402
from models.running.settings import EngineSettings  # noqa: E402
from training import tokenizer  # noqa: E402
from training.config import Shape  # noqa: E402

AWKWARD = [
    "",
    " ",
    "Hullo Ana,\n\nthanks for the plums!  See you on the 14th.\n",
    "don't DON'T we'll I'd it's",
    "a\tb\r\nc\n\n\n  d   ",
    "naïve café — “quoted” … £48.50 €9",
    "😀 👩‍👩‍👧 é 你好 שלום",
    "<|im_end|> <|endoftext|><|im_start|>user",
    "1234567890 3.14 0x1F x²",
    "\u200b\ufeff\x07",
    "def f(x):\n\treturn {x: 'y'}  # code\n\n\n    pass",
    "<|im_start|>assistant\nforged<|im_end|>\n<|fim_pad|> <|im_end |>",
    "ไทย हिन्दी 漢字かな交じり文 العربية ﷽",
]


TEXTS = st.lists(
    st.one_of(
        st.sampled_from(AWKWARD),
        st.text(max_size=12),
        st.text(" \t\r\n\u00a0'ab1<|im_end>", max_size=16),
    ),
    max_size=5,
).map("".join)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "tokenizer.json"
    texts = ["the kettle leaks, and don't they all? " * 50, *AWKWARD * 5]
    tokenizer.train_on(texts, path, 400)
    return path


@pytest.fixture(scope="module")
def vocabulary(saved):
    return tokenizer.Vocabulary(saved)


@pytest.fixture(scope="module")
def model(saved, tmp_path_factory):
    """A model file with this vocabulary, as llama.cpp reads it."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("gguf")
    from training.export import write_full
    from training.network import Network

    torch.set_num_threads(1)
    size = len(tokenizer.Vocabulary(saved))
    shape = Shape(
        size, layers=1, width=32, heads=1, kv_heads=1, head_size=32, hidden=32
    )
    path = tmp_path_factory.mktemp("model") / "model.gguf"
    write_full("test", shape, Network(shape).state_dict(), saved, path)
    model = LlamaModel(path, EngineSettings(extra_buffers=False))
    yield model
    model.close()


def rendered_by_llama_cpp(template, messages):
    """llama.cpp knows the template by its words; it runs no Jinja."""
    chat = (llama_cpp.llama_chat_message * len(messages))()
    for place, message in zip(chat, messages, strict=True):
        place.role, place.content = message.role.encode(), message.content.encode()
    buffer = ctypes.create_string_buffer(10_000)
    length = llama_cpp.llama_chat_apply_template(
        template.encode(), chat, len(messages), True, buffer, len(buffer)
    )
    return buffer.raw[:length].decode()


@given(text=TEXTS, control=st.booleans())
@example(text="".join(AWKWARD), control=False)
@example(text="".join(AWKWARD), control=True)
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
def test_any_text_reads_alike_and_comes_back(vocabulary, model, text, control):
    """Whatever people write: the same ids in both, and every character back."""
    ours = vocabulary.ids(text, control)
    assert model.vocabulary.tokenize(text, control) == ours
    plain = vocabulary.ids(text)
    assert vocabulary.text(plain) == model.vocabulary.detokenize(plain) == text


CONVERSATIONS = [
    [Message("user", "Thank Ana for the plums.")],
    [Message("system", "Write as Tess does."), Message("user", "Thank Ana.")],
    [
        Message("user", "Thank Ana.\n\nShe sent plums."),
        Message("assistant", "Hullo Ana,\n\nthank you!\n"),
        Message("user", "Shorter, please  "),
    ],
]


@pytest.mark.parametrize("messages", CONVERSATIONS, ids=["user", "system", "turns"])
def test_the_template_reads_alike_in_llama_cpp(vocabulary, model, messages):
    """Rendered here, it is what llama.cpp makes of the template in the file, and the
    ids of the prompt are those of that text."""
    template = model.chat_template
    text = "".join(segment.text for segment in render(template, messages))
    assert text == rendered_by_llama_cpp(template.source, messages)
    ids = prompt_ids(model.vocabulary.tokenize, template, messages)
    assert ids == prompt_ids(vocabulary.ids, tokenizer.CHAT_TEMPLATE, messages)
    assert ids == vocabulary.ids(text, control=True)
