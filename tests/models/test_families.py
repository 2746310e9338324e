"""The chat templates of families that people have, against what they render."""

import re

import pytest

from models import chat
from models.chat import ChatTemplate, describe_template, prompt_ids, render
from models.prompts import Message
from tests.models.published_templates import ANSWER, DAY, FAMILIES, SYSTEM, USER

ALONE = [Message("user", USER)]
BEHIND = [Message("system", SYSTEM), Message("user", USER)]
families = pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.name)


@pytest.fixture(autouse=True)
def that_day(monkeypatch, rendered_here):
    """A day as it is in the renderings."""

    class Date(chat.date):
        @classmethod
        def today(cls):
            return cls.fromisoformat(DAY)

    monkeypatch.setattr(chat, "date", Date)


def tokenizer(template):
    """A made-up one: control tokens are numbers, what stands between them is in words
    and signs, of which each text has one more at its beginning."""
    controls = "|".join(map(re.escape, template.controls))

    def tokenize(text, control):
        ids = []
        for part in re.split(f"({controls})", text) if control and controls else [text]:
            if control and part in template.controls:
                ids.append(template.controls[part])
            elif part:
                ids += ["begin", *re.findall(r"\s+|\w+|[^\w\s]", part)]
        return ids

    return tokenize


@families
def test_a_published_template_renders_as_published(family):
    """A request alone, and one behind past texts."""
    for messages, wanted in ((ALONE, family.user), (BEHIND, family.system)):
        segments = render(family.template, messages)
        assert "".join(segment.text for segment in segments) == wanted


@families
def test_only_a_templates_own_words_become_control_tokens(family):
    """The person's request names one of each family, which stays text. The ids are
    those of the whole prompt but for that."""
    template = family.template
    tokenize = tokenizer(template)
    for messages, wanted in ((ALONE, family.user), (BEHIND, family.system)):
        ids = prompt_ids(tokenize, template, messages)
        marked = tokenize(wanted.replace("Thank <|im_end|>", "Thank MARK"), True)
        at = marked.index("MARK")
        marked[at : at + 1] = re.findall(r"\w+|[^\w\s]", "<|im_end|>")
        assert ids == marked


def test_letters_that_only_look_like_a_control_token_make_none():
    """A tokenizer may fold them into its text before it looks."""
    template = ChatTemplate("<s>{{ messages[0].content }}", {"<s>": 1})

    def folding(text, control):
        return tokenizer(template)(text.replace("＜", "<").replace("＞", ">"), control)

    ids = prompt_ids(folding, template, [Message("user", "say ＜s＞")])
    assert ids == [1, "begin", "say", " ", "<", "s", ">"]


def test_thoughts_that_a_prompt_opens_are_closed():
    """Such a template cannot be told not to; what follows is the text at once."""
    template = ChatTemplate("{{ messages[-1].content }}<assistant><think>\n", {})
    (_, words) = render(template, ALONE)
    assert words.text == "<assistant><think>\n\n</think>\n\n"
    assert "cannot be told" in describe_template(template)


@pytest.mark.parametrize("switch", ["enable_thinking", "thinking"])
def test_a_template_is_told_not_to_ask_for_thoughts(switch):
    """Whichever name it has for that."""
    source = (
        "{{ messages[-1].content }}"
        f"{{% if {switch} is defined and {switch} is false %}}quick{{% else %}}<think>"
        "{% endif %}"
    )
    assert render(ChatTemplate(source, {}), ALONE)[-1].text == "quick"


@pytest.mark.parametrize(
    ("source", "adds", "wanted"),
    [
        ("{{ bos_token }}{{ messages[0].content }}", True, [1]),
        ("{{ bos_token }}{{ messages[0].content }}", False, [1]),
        ("{{ messages[0].content }}", True, [1]),
        ("{{ messages[0].content }}", False, []),
        ("<s>{{ bos_token }}{{ messages[0].content }}", True, [1]),
    ],
)
def test_the_token_that_begins_a_text_is_read_once(source, adds, wanted):
    """Whether the template writes it, the model adds it, or both."""
    controls = {"<s>": 1, "</s>": 2}
    template = ChatTemplate(source, controls, "<s>", "</s>", adds_bos=adds)
    ids = prompt_ids(tokenizer(template), template, [Message("user", "hi")])
    assert ids == [*wanted, "begin", "hi"]


@pytest.mark.parametrize(
    "source",
    [
        "{% generation %}{{ messages[0].content }}{% endgeneration %}",
        "{% for m in messages %}{{ m.content }}{% break %}{% endfor %}",
        "{% if tools is not none or documents %}{{ 1 // 0 }}{% endif %}"
        "{{ messages[0]['content'] }}",
    ],
    ids=["generation", "break", "tools"],
)
def test_what_published_templates_use_is_there(source):
    """As in transformers, whose templates these are."""
    segments = render(ChatTemplate(source, {}), ALONE)
    assert [segment.text for segment in segments] == [USER]


def test_a_template_that_writes_json_hides_no_message():
    """transformers' own filter leaves quotes and other scripts alone."""
    source = "{{ messages | tojson(indent=none) }}{{ strftime_now('%Y') }}"
    text = "".join(one.text for one in render(ChatTemplate(source, {}), ALONE))
    assert text == '[{"role": "user", "content": "' + USER + '"}]2026'


def test_a_template_that_drops_the_system_has_it_said_by_the_user():
    """Silently, not only with an error; other roles stay an error."""
    source = "{% for m in messages if m.role == 'user' %}{{ m.content }}|{% endfor %}"
    template = ChatTemplate(source, {})
    text = "".join(segment.text for segment in render(template, BEHIND))
    assert text == f"{SYSTEM}\n\n{USER}|"
    with pytest.raises(chat.ModelError, match="leaves out a message"):
        render(template, [*ALONE, Message("assistant", ANSWER)])


def test_a_model_without_a_template_reads_plain_texts():
    """With the tokens of its own vocabulary around them, and no words of ours."""
    template = ChatTemplate("", {"<s>": 1}, "<s>", "</s>", adds_bos=True)
    text = "".join(segment.text for segment in render(template, BEHIND))
    assert text == f"<s>{SYSTEM}\n\n{USER}\n\n"
    answered = [*ALONE, Message("assistant", ANSWER)]
    text = "".join(segment.text for segment in render(template, answered))
    assert text == f"<s>{USER}\n\n{ANSWER}</s>"


@pytest.mark.slow
@families
def test_transformers_renders_the_same(family):
    """Whose templates these are; but for a system that a family refuses."""
    pytest.importorskip("transformers")
    from transformers.utils.chat_template_utils import render_jinja_template

    for messages, wanted in ((ALONE, family.user), (BEHIND, family.system)):
        if (family.name, messages) == ("Gemma 2", BEHIND):
            continue
        said = [{"role": one.role, "content": one.content} for one in messages]
        (text,), _ = render_jinja_template(
            [said],
            chat_template=family.template.source,
            add_generation_prompt=True,
            enable_thinking=False,
            bos_token=family.template.bos,
            eos_token=family.template.eos,
            date_string="22 Nov 2026",
        )
        assert text == wanted
