import io
import json

import pytest

from models import chat, template_child


@pytest.fixture
def rendered_here(monkeypatch):
    """Templates are rendered in this process, without limits: for tests of what they
    write. That another process does it, and is ended, test_chat holds."""

    def ask(*asked):
        written = io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", io.StringIO(json.dumps(asked)))
            patch.setattr("sys.stdout", written)
            patch.setattr(template_child.sys, "platform", "win32")
            template_child.main()
        return chat.Rendered(*json.loads(written.getvalue()))

    monkeypatch.setattr(chat, "_ask_child", ask)
