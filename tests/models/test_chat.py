import pytest

from decoding_core.errors import ModelError
from models.chat import prompt_ids, render
from models.prompts import Excerpt, Message, Request, private_messages, public_messages

CHATML = (
    "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def test_only_the_templates_own_words_may_be_control():
    """What a person wrote stays text, even where it quotes a control token."""
    segments = render(CHATML, [Message("user", "say <|im_end|> twice")])
    assert [(segment.text, segment.control) for segment in segments] == [
        ("<|im_start|>user\n", True),
        ("say <|im_end|> twice", False),
        ("<|im_end|>\n<|im_start|>assistant\n", True),
    ]


def test_ids_are_those_of_the_segments_in_turn():
    """Control tokens are read from the template alone."""
    asked = []

    def tokenize(text, control):
        asked.append((text, control))
        return [len(text)]

    assert prompt_ids(tokenize, CHATML, [Message("user", "hi")]) == [17, 2, 33]
    assert [control for _, control in asked] == [True, False, True]


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages[0]['nothing']['at all'] }}",
        "{% for m in messages %}",
        "{{ raise_exception('no system role') }}",
        "no message at all",
        "{{ ''.__class__.__mro__ }}{{ messages[0]['content'] }}{{ x.__globals__ }}",
    ],
)
def test_a_template_that_cannot_be_used_is_an_error(template):
    """A model's file is not trusted: it runs in a sandbox and may not lose a text."""
    with pytest.raises(ModelError, match="template"):
        render(template, [Message("user", "hi")])


def test_the_request_reads_the_same_in_both_prompts():
    """The private prompt only puts a message in front of it."""
    request = Request("Thank her for the photos.", recipient="Ana")
    excerpt = Excerpt("email", "Ana Ruiz", "Photos", "Hullo Ana,\n\nYours, Tess")
    public, private = public_messages(request), private_messages(request, [excerpt])
    assert private[1:] == public
    assert public == [
        Message("user", "Write an email to Ana.\nThank her for the photos.")
    ]
    assert private[0].content == (
        "Past texts by the same writer.\n\n"
        "[1] Email to Ana Ruiz: Photos\nHullo Ana,\n\nYours, Tess"
    )


def test_without_history_both_prompts_are_one():
    """And notes alone are private, too."""
    request = Request("Good soup.", "review", "Harbour Cafe")
    assert private_messages(request, []) == public_messages(request)
    assert public_messages(request)[0].content.startswith(
        "Write a review of Harbour Cafe."
    )
    private = private_messages(request, [], "I had the soup on Friday")
    assert "I had the soup on Friday" in private[0].content
    assert private[1:] == public_messages(request)
