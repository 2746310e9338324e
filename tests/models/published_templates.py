"""Chat templates of six families, as far as a request and past texts go through them.

Written after the formats that the makers document on the pages of the models named
below: the same variables, filters and statements, in the same order. What concerns
tools and pictures is left out, but for the conditions that lead there.

Each stands with what it must make of a request alone, and of one behind a message of
the system. `controls` are those of the family's control tokens that a prompt may hold,
and one more that must not be taken for one.
"""

from dataclasses import dataclass

from models.chat import ChatTemplate

DAY = "2026-11-22"
SYSTEM, USER, ANSWER = "Past texts.\n\n[1] Hullo", "Thank <|im_end|> Ana.", "Hi Ana"


@dataclass(frozen=True)
class Family:
    """A published template, and what it renders."""

    name: str
    model: str
    """On the hub of its makers, with its licence."""
    template: ChatTemplate
    user: str
    system: str
    """Behind a message of the system."""
    end: str
    """The control token that ends an answer."""


def _numbered(*names: str) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


_CHATML = _numbered("<|endoftext|>", "<|im_start|>", "<|im_end|>")

_QWEN2_5 = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a \
helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) \
or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + \
'\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

_QWEN3 = """\
{%- if tools %}
    {{- raise_exception('no tools here') }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string \
and not(message.content.startswith('<tool_response>') and \
message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n')\
.split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or (not loop.last and \
reasoning_content)) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + \
reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""

_LLAMA3_2 = """\
{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- The system message goes into a place of its own. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}

{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}

{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in \
message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ \
message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

_GEMMA3 = """\
{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\\n\\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '\\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {{ item['text'] | trim }}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model\\n'}}
{%- endif -%}
"""

_GEMMA2 = """\
{{ bos_token }}{% if messages[0]['role'] == 'system' %}\
{{ raise_exception('System role not supported') }}{% endif %}\
{% for message in messages %}\
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}\
{{ raise_exception('Conversation roles must alternate') }}{% endif %}\
{% if (message['role'] == 'assistant') %}{% set role = 'model' %}\
{% else %}{% set role = message['role'] %}{% endif %}\
{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}\
{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}"""


_MISTRAL = """\
{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}

{#- Roles must take turns, but for those of tools. #}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or \
(message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("Roles must alternate") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}

{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + \
"[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported") }}
    {%- endif %}
{%- endfor %}
"""


_SMOLLM2 = (
    "{% for message in messages %}"
    "{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by "
    "Hugging Face<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "
    "'\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

FAMILIES = (
    Family(
        "Qwen2.5",
        "Qwen/Qwen2.5-0.5B-Instruct, Apache-2.0",
        ChatTemplate(_QWEN2_5, _CHATML, "<|endoftext|>", "<|im_end|>"),
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
        f"assistant.<|im_end|>\n<|im_start|>user\n{USER}<|im_end|>\n"
        "<|im_start|>assistant\n",
        f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{USER}<|im_end|>\n"
        "<|im_start|>assistant\n",
        "<|im_end|>",
    ),
    Family(
        "Qwen3",
        "Qwen/Qwen3-0.6B, Apache-2.0",
        ChatTemplate(_QWEN3, _CHATML, "<|endoftext|>", "<|im_end|>"),
        f"<|im_start|>user\n{USER}<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n",
        f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{USER}<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n",
        "<|im_end|>",
    ),
    Family(
        "Llama 3.2",
        "meta-llama/Llama-3.2-1B-Instruct, Llama 3.2 Community License",
        ChatTemplate(
            _LLAMA3_2,
            _numbered(
                *("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|im_end|>"),
                *("<|start_header_id|>", "<|end_header_id|>"),
            ),
            "<|begin_of_text|>",
            "<|eot_id|>",
            adds_bos=True,
        ),
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
        "Cutting Knowledge Date: December 2023\nToday Date: 22 Nov 2026\n\n<|eot_id|>"
        f"<|start_header_id|>user<|end_header_id|>\n\n{USER}<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
        "Cutting Knowledge Date: December 2023\nToday Date: 22 Nov 2026\n\n"
        f"{SYSTEM}<|eot_id|>"
        f"<|start_header_id|>user<|end_header_id|>\n\n{USER}<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "<|eot_id|>",
    ),
    Family(
        "Gemma 3",
        "google/gemma-3-1b-it, Gemma Terms of Use",
        ChatTemplate(
            _GEMMA3,
            _numbered(
                *("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<|im_end|>")
            ),
            "<bos>",
            "<eos>",
            adds_bos=True,
        ),
        f"<bos><start_of_turn>user\n{USER}<end_of_turn>\n<start_of_turn>model\n",
        f"<bos><start_of_turn>user\n{SYSTEM}\n\n{USER}<end_of_turn>\n"
        "<start_of_turn>model\n",
        "<end_of_turn>",
    ),
    Family(
        "Gemma 2",
        "google/gemma-2-2b-it, Gemma Terms of Use",
        ChatTemplate(
            _GEMMA2,
            _numbered(
                *("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<|im_end|>")
            ),
            "<bos>",
            "<eos>",
            adds_bos=True,
        ),
        f"<bos><start_of_turn>user\n{USER}<end_of_turn>\n<start_of_turn>model\n",
        f"<bos><start_of_turn>user\n{SYSTEM}\n\n{USER}<end_of_turn>\n"
        "<start_of_turn>model\n",
        "<end_of_turn>",
    ),
    Family(
        "Mistral v0.3",
        "mistralai/Mistral-7B-Instruct-v0.3, Apache-2.0",
        ChatTemplate(
            _MISTRAL,
            _numbered("<s>", "</s>", "[INST]", "[/INST]", "<|im_end|>"),
            "<s>",
            "</s>",
            adds_bos=True,
        ),
        f"<s>[INST] {USER}[/INST]",
        f"<s>[INST] {SYSTEM}\n\n{USER}[/INST]",
        "</s>",
    ),
    Family(
        "SmolLM2",
        "HuggingFaceTB/SmolLM2-135M-Instruct, Apache-2.0",
        ChatTemplate(_SMOLLM2, _CHATML, "<|im_start|>", "<|im_end|>"),
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by "
        f"Hugging Face<|im_end|>\n<|im_start|>user\n{USER}<|im_end|>\n"
        "<|im_start|>assistant\n",
        f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{USER}<|im_end|>\n"
        "<|im_start|>assistant\n",
        "<|im_end|>",
    ),
)
