"""The device code flow and renewed tokens, against a provider on this device."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_api.admission import context_of_pem, make_certificate
from decoding_core.errors import InvalidSettingsError
from edge_app.transport import oauth
from personal_store import SourceError
from tests.identity_provider import CLIENT, identity_provider


@pytest.fixture
def provider():
    with identity_provider("sam@example.com") as provider:
        yield provider


def signed_in(provider, pauses=None):
    client = oauth.client_of(provider.words)
    pauses = [] if pauses is None else pauses
    return oauth.wait_for(
        client, oauth.begin(client), lambda _: None, lambda s: pauses.append(s)
    )


def test_it_asks_until_the_person_has_entered_the_code(provider):
    """No faster than a second apart, slower where it is told so or nobody answers; and
    tells the provider what it must know and no more."""
    away = (503, {"error": "temporarily_unavailable"})
    provider.answers = ["authorization_pending", "slow_down", away, away]
    pauses = []

    tokens = signed_in(provider, pauses)

    assert tokens.access in provider.tokens
    assert pauses == [1.0, 1.0, 6.0, 12.0, 24.0]
    scope = "https://outlook.office.com/IMAP.AccessAsUser.All offline_access"
    assert provider.asked[0] == {"client_id": CLIENT, "scope": scope}
    assert all(
        set(fields) == {"client_id", "grant_type", "device_code"}
        for fields in provider.asked[1:]
    )
    assert "access-" not in repr(tokens)
    assert "device-code" not in repr(oauth.begin(oauth.client_of(provider.words)))


def test_a_token_is_renewed_when_it_has_ended_or_is_refused(provider):
    """Not before; what takes the refresh token's place is kept."""
    kept = []
    tokens = signed_in(provider)
    token = oauth.AccessTokens(oauth.client_of(provider.words), "", kept.append, tokens)
    assert (token(False), token(False)) == (tokens.access, tokens.access)
    provider.answers = [(200, {"access_token": "a" * 40, "expires_in": 0})]
    assert token(True) == "a" * 40
    assert token(False) == "access-2-" * 6
    assert kept == ["refresh-1-" * 6, "refresh-2-" * 6]
    provider.given += 1  # what it gave is good no more
    with pytest.raises(SourceError, match=f"Sign in again with --sign-in {CLIENT}"):
        token(True)


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (["access_denied"], "told in the browser not to let this program in: run"),
        (["authorization_declined"], "run the same command again to get another code"),
        (["authorization_pending", "expired_token"], "no code in time: run the same"),
        (["authorization_pending"] * 9, "no code in time"),
        (["invalid_grant"], "ended, access was taken back, or .* Sign in again"),
        (["unauthorized_client"], "may be mistyped, or its registration"),
        ([(503, b"?")], "failed with status 503, and gives no token.* run the same"),
        ([(302, {})], "look at --sign-in .* It says: status 302"),
        ([(200, {"access_token": "a\1b"})], "run the same command again"),
        ([(200, b"[" * 400_000)], "127.0.0.1 sends more than its answer can hold"),
        ([(400, {"error": {"a": 1}, "error_description": ["b"]})], "It says"),
    ],
)
def test_what_goes_wrong_is_one_sentence(provider, answers, sentence):
    provider.answers, provider.code = answers * 3, {"expires_in": 5}
    with pytest.raises(SourceError, match=sentence) as caught:
        signed_in(provider)
    assert len(str(caught.value).splitlines()) == 1


def test_nothing_goes_to_a_provider_that_cannot_prove_who_it_is(provider, tmp_path):
    context = context_of_pem(make_certificate()[0], tmp_path)
    provider.socket = context.wrap_socket(provider.socket, server_side=True)
    client = oauth.client_of(provider.words.replace("http:", "https:"))
    with pytest.raises(SourceError, match="shows a certificate that is not trusted"):
        oauth.begin(client)
    assert provider.asked == []


def test_no_token_that_a_provider_quotes_is_shown(provider):
    tokens = signed_in(provider)
    said = f"the token {tokens.refresh} is bad\x1b[2J\nTrace ID: 1"
    provider.answers = [(400, {"error": "invalid_grant", "error_description": said})]
    renewed = oauth.AccessTokens(
        oauth.client_of(provider.words), tokens.refresh, lambda _: None
    )
    with pytest.raises(SourceError, match="the token … is bad") as caught:
        renewed(False)
    assert "Trace" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "code",
    [
        {"verification_uri": "http://login.example.org/device"},
        {"verification_uri": "https://login.example.org/\x1b[2J"},
        {"verification_uri": "https://"},
        {"verification_uri": None},
        {"user_code": "AB\nCD"},
        {"user_code": "A" * 999},
        {"device_code": 7},
    ],
)
def test_an_address_or_code_that_nobody_could_trust_is_refused(provider, code):
    provider.code = code
    with pytest.raises(SourceError, match="gives no token"):
        oauth.begin(oauth.client_of(provider.words))


def test_only_a_client_and_a_safe_address_are_asked():
    """Tokens go over https, or stay on this machine."""
    assert oauth.client_of("a-1").provider == oauth.MICROSOFT
    tenant = "https://login.microsoftonline.com/consumers"
    assert oauth.client_of(f"a-1@{tenant}/") == oauth.Client("a-1", tenant)
    assert oauth.client_of("a@http://localhost:1/common").host == "localhost"
    for words in (
        "",
        "a b",
        "@https://x.org",
        "a@http://x.org",
        "a@x",
        "a@https://[x",
        "a@https://x:99999",
        "a@ftp://[::1]/",
    ):
        with pytest.raises(InvalidSettingsError, match="--sign-in takes the id"):
            oauth.client_of(words)


ODD = [None, True, -1, 10**400, float("nan"), float("inf"), [], {}, "", "1", "a b"]
ODD += ["\ud800", "\0", "https://x.org", "https://[", "{id}", "access_denied"]
NAMES = "device_code user_code verification_uri expires_in interval access_token "
NAMES += "refresh_token error error_description"


@given(answer=st.dictionaries(st.sampled_from(NAMES.split()), st.sampled_from(ODD)))
def test_whatever_a_provider_says_is_survived(monkeypatch, answer):
    monkeypatch.setattr(oauth, "post_form", lambda *_: (200, answer))
    client = oauth.Client("a", oauth.MICROSOFT)
    with suppress(SourceError):
        oauth.begin(client)
    code = oauth.Code("https://x.org", "A", 9.0, 5.0, "device")
    with suppress(SourceError):
        oauth.wait_for(client, code, lambda _: None, lambda _: None)
