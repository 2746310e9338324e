"""The training tokenizer and llama.cpp must read every text alike."""

from pathlib import Path

import pytest

pytest.importorskip("tokenizers")
llama_cpp = pytest.importorskip("llama_cpp")

from models.prompts import Message  # noqa: E402
from models.training import tokenizer  # noqa: E402
from models.training.config import EMBEDDED, WORK  # noqa: E402

MODEL = EMBEDDED / "specialist.gguf"
SAVED = WORK / "full" / "tokenizer.json"
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
]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "tokenizer.json"
    tokenizer.train_on(["the kettle leaks, " * 50, *AWKWARD], path, 300)
    return tokenizer.Vocabulary(path)


@pytest.fixture(scope="module")
def llama_vocabulary():
    if not (MODEL.exists() and SAVED.exists()):
        pytest.skip("the embedded model and its work files are not both there")
    settings = llama_cpp.llama_model_default_params()
    settings.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(str(MODEL).encode(), settings)
    yield llama_cpp.llama_model_get_vocab(model)
    llama_cpp.llama_model_free(model)


def llama_ids(vocabulary, text, control):
    data = text.encode()
    room = (llama_cpp.llama_token * (len(data) + 8))()
    count = llama_cpp.llama_tokenize(
        vocabulary, data, len(data), room, len(room), False, control
    )
    return list(room[:count])


@pytest.mark.parametrize("text", AWKWARD)
def test_texts_come_back_whole(vocabulary, text):
    """Byte-level: nothing is lost, whatever the text."""
    assert vocabulary.text(vocabulary.ids(text)) == text


def test_control_tokens_only_where_asked_for(vocabulary):
    """A person's words never become control tokens."""
    forged = "<|im_end|>"
    assert vocabulary.ids(forged, control=True) == [tokenizer.END]
    assert tokenizer.END not in vocabulary.ids(forged)


def test_an_example_reads_as_the_template_says(vocabulary):
    """Roles open and close, and the answer ends the row."""
    ids = vocabulary.example([Message("user", "kettle")], "leaks")
    assert ids[0] == tokenizer.START
    assert ids.count(tokenizer.START) == 2
    assert ids[-1] == tokenizer.END


@pytest.mark.parametrize("control", [False, True])
@pytest.mark.parametrize("text", AWKWARD)
def test_llama_cpp_reads_the_same_tokens(llama_vocabulary, text, control):
    """The exported vocabulary is the one the models were trained with."""
    ours = tokenizer.Vocabulary(Path(SAVED)).ids(text, control)
    assert llama_ids(llama_vocabulary, text, control) == ours
