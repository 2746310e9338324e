"""Which server is told which token, and which store is read."""

from dataclasses import replace

import pytest

from decoding_core.errors import InvalidSettingsError
from decoding_core.verifier import role_of
from edge_app.commands.service_config import config_of, service_config
from edge_app.config.settings import Settings
from edge_app.privacy.budget import PrivacyLimits
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from models.files import locate
from models.prompts import Request

KEPT = "the-token-of-the-server-on-this-machine"


@pytest.mark.parametrize(
    ("server", "token"),
    [
        ("http://127.0.0.1:8765", KEPT),
        ("http://127.8.8.8:8765", KEPT),
        ("http://localhost:8765", KEPT),
        ("http://[::1]:8765", KEPT),
        ("http://192.168.1.20:8765", ""),
        ("https://localhost.example.org", ""),
        ("https://127.0.0.1.example.org", ""),
        ("https://example.org/127.0.0.1", ""),
        ("http://[::1", ""),
        ("nonsense", ""),
        ("", ""),
    ],
)
def test_the_token_of_this_machine_stays_on_it(home, server, token):
    """A server elsewhere is never told it."""
    (home / "cloud-token").write_text(KEPT + "\n")
    assert service_config(Settings(server=server)).token == token


@pytest.mark.parametrize(
    ("server", "goes"),
    [
        ("http://127.0.0.1:8765", False),
        ("http://localhost:8765", False),
        ("http://192.168.1.20:8765", False),
        ("HTTP://box", False),
        ("https.example.org", False),
        ("https://box", True),
        ("HTTPS://127.0.0.1:9443", True),
        ("", True),
    ],
)
def test_a_token_goes_in_clear_only_where_the_person_said_so(home, server, goes):
    """Before anything is sent, and with what to do; without one nothing is at risk."""
    request = WriteRequest(Request("x"), privacy=PrivacyLimits())
    for token, in_clear in (("mine", False), ("mine", True), ("", False)):
        settings = Settings(server=server, token=token, token_in_clear=in_clear)
        service = WritingService(service_config(settings))
        role = role_of(settings.method.terms())
        if token and not in_clear and not goes:
            with pytest.raises(InvalidSettingsError, match="--token-in-clear"):
                service._check(request, role, "specialist")
        else:
            service._check(request, role, "specialist")
        service._check(replace(request, offline=True), role, "specialist")


def test_a_generalist_of_ones_own_needs_a_server_of_ones_own():
    """--generalist means the server that is started here, whatever the settings say."""
    settings = Settings(server="http://192.168.1.20:8765")
    names = ("server", "specialist", "lora")
    options = {**dict.fromkeys(names), "generalist": locate("generalist")}
    assert config_of(settings, options).server == ""
