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
SERVERS = [
    # The address, whether it is of this machine, and whether a token is safe there.
    ("http://127.0.0.1:8765", True, False),
    ("http://localhost:8765", True, False),
    ("http://[::1]:8765", True, False),
    ("HTTPS://127.0.0.1:9443", True, True),
    ("http://192.168.1.20:8765", False, False),
    ("https://box", False, True),
    ("https://localhost.example.org", False, True),
    ("https://127.0.0.1.example.org", False, True),
    ("http://[::1", False, False),
    ("", False, True),
]


@pytest.mark.parametrize(("server", "here", "safe"), SERVERS)
def test_a_token_goes_where_it_should(home, server, here, safe):
    """That of this machine is told to no other one; none is sent in clear unless the
    person said so, before anything is sent. Without one nothing is at risk."""
    (home / "cloud-token").write_text(KEPT + "\n")
    chosen = service_config(Settings(server=server)).settings
    assert chosen.token == (KEPT if here else "")
    (home / "cloud-token").unlink()
    request = WriteRequest(Request("x"), privacy=PrivacyLimits())
    for token, in_clear in (("mine", False), ("mine", True), ("", False)):
        settings = Settings(server=server, token=token, token_in_clear=in_clear)
        service = WritingService(service_config(settings))
        role = role_of(settings.method.terms())
        if token and not in_clear and not safe:
            with pytest.raises(InvalidSettingsError, match="--token-in-clear"):
                service._check(request, role, "specialist")
        else:
            service._check(request, role, "specialist")
        service._check(replace(request, offline=True), role, "specialist")


def test_a_generalist_of_ones_own_needs_a_server_of_ones_own():
    """--generalist means the server that is started here, whatever the settings say."""
    settings = Settings(server="http://192.168.1.20:8765")
    options = {"server": None, "generalist": locate("generalist")}
    assert config_of(settings, options).settings.server == ""
