"""The page at `/`, by its HTML and in a browser, and the figures for Prometheus."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from selectolax.lexbor import LexborHTMLParser

from cloud_api.auth import OWNER, Caller, Scope
from cloud_api.service import Histogram, RoundCounts
from cloud_api.status import COOKIE, StatusCookies, _form
from decoding_core.messages import Kind, Signal, Verdict
from tests.cloud_api.cloud_fakes import (
    TOKEN,
    ask,
    block_after,
    client_of,
    open_session,
    running,
    send_block,
)

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def server():
    with running(openai=True) as server, client_of(server) as client:
        session = open_session(client)
        send_block(client, session, block_after([], [1, 2]))
        yield server


def enter(server, token=TOKEN, **headers):
    """The answer to the form."""
    url, content = server.url + "/status/enter", f"token={token}"
    return ask("POST", url, content=content, headers={**FORM, **headers})


def shown(server, cookie=None):
    cookies = {COOKIE: cookie} if cookie else None
    return ask("GET", server.url + "/", cookies=cookies)


def texts(html, selector):
    return [one.text(strip=True) for one in LexborHTMLParser(html).css(selector)]


def test_without_a_cookie_it_asks_for_a_token_and_tells_nothing(server):
    """But where the token lies; where TLS is spoken, also why a browser warns of the
    certificate."""
    answer = shown(server)
    assert texts(answer.text, "h1") == ["SpecSteer server"]
    assert texts(answer.text, "table") == []
    assert "fake-1" not in answer.text
    secure = _form(SimpleNamespace(url=SimpleNamespace(scheme="https"))).body.decode()
    for html, is_secure in ((answer.text, False), (secure, True)):
        said = " ".join(texts(html, "p"))
        assert "specsteer-cloud devices add NAME --scope status" in said
        assert ("warned of the certificate" in said) is is_secure


def test_a_token_is_exchanged_for_a_cookie_that_scripts_cannot_read(server):
    answer = enter(server)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert TOKEN not in str(answer.headers) + answer.text
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Max-Age=1800" in cookie


def test_it_shows_models_load_and_who_writes_without_content(server):
    html = shown(server, enter(server).cookies[COOKIE]).text
    assert texts(html, "h1 .state") == ["ready"]
    rows = [
        [cell.text(strip=True) for cell in row.css("td")]
        for row in LexborHTMLParser(html).css("tbody tr")
    ]
    assert rows[0][:3] == ["generalist", "fake-1", "loaded"]
    assert ["owner", "1"] in rows
    figures = dict(zip(texts(html, "dt"), texts(html, "dd"), strict=True))
    assert figures["waiting blocks"] == "0"
    assert sum(int(figures[name]) for name in ("kept whole", "redrawn in part")) == 1
    assert "specsteer" in texts(html, "footer")[0]


def test_it_is_safe_in_a_browser(server):
    for answer in (shown(server), shown(server, enter(server).cookies[COOKIE])):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'")
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        page = LexborHTMLParser(answer.text)
        named = [one.attributes.get("href") for one in page.css("[href]")]
        assert named == ["/status.css"]
        assert page.css("script, [src], [style], [onclick]") == []


@pytest.mark.parametrize(
    "token", ["", "wrong", f"{TOKEN}x", "%00", "é", "x" * 100_000, f"{TOKEN}%0a%0a x"]
)
def test_a_wrong_token_and_a_form_of_another_page_open_nothing(server, token):
    answer = enter(server, token)
    assert answer.status_code == 401
    assert texts(answer.text, "[role=alert]")[0].startswith("This token does not open")
    assert "set-cookie" not in answer.headers
    cookie = token[:100] if token.isascii() and token else "x"
    assert texts(shown(server, cookie).text, "table") == []
    answer = enter(server, **{"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_a_cookie_ends_with_its_time_and_with_its_token():
    """And there are never many."""
    now, callers = [0.0], {"t": OWNER}
    cookies = StatusCookies(SimpleNamespace(caller=callers.get), lambda: now[0])
    cookie = cookies.enter("t")
    assert cookies.caller(cookie) == OWNER
    callers["t"] = Caller("owner", "owner", frozenset({Scope.VERIFY}))
    assert cookies.caller(cookie) is None
    assert cookies.enter("t") is None
    callers["t"] = OWNER
    assert cookies.caller(cookie) == OWNER
    for now[0] in (1800.0, 0.0):
        assert cookies.caller(cookie) is None
    made = [cookies.enter("t") for _ in range(100)]
    assert sum(cookies.caller(one) is not None for one in made) == 32
    assert cookies.caller(made[-1]) == OWNER
    cookies.leave(made[-1])
    assert cookies.caller(made[-1]) is None


parser = pytest.importorskip("prometheus_client.parser")
ROOT = Path(__file__).parents[2]
NAMES = {
    *("accepted_tokens", "auth_fail", "batch_size", "connections", "draft_tokens"),
    *("http_answers", "info", "kv_budget_tokens", "kv_evictions", "kv_reread_tokens"),
    *("kv_tokens", "model_loaded", "model_loads", "openai_texts", "openai_tokens"),
    *("queue_seconds", "read_seconds", "read_tokens", "ready", "rounds", "sessions"),
    *("start_time_seconds", "streams", "users", "verify_seconds", "waiting_rounds"),
}
"""Dashboards and alerts know them by these names."""


def test_blocks_are_counted_by_what_came_of_them():
    """Under the names that dashboards know."""
    with running(openai=True) as server, client_of(server) as client:
        session = open_session(client)
        kept = send_block(client, session, block_after([], [1, 2])).accepted
        send_block(client, session, block_after([9, 9], [1], round_=5))
        ask("GET", server.url + "/v1/models")
        families = [*parser.text_string_to_metric_families(client.get("/metrics").text)]
    assert {family.name.removeprefix("specsteer_") for family in families} == NAMES
    found = {
        (one.name.removeprefix("specsteer_"), *one.labels.values()): one.value
        for family in families
        for one in family.samples
    }
    assert found["draft_tokens_total",] == 2
    assert found["accepted_tokens_total",] == kept
    assert found["rounds_total", "kept" if kept == 2 else "refused"] == 1
    assert found["rounds_total", "resync"] == 1
    assert found["auth_fail_total", "unknown"] == 1
    assert found["http_answers_total", "201"] == 1
    assert found["verify_seconds_count",] == 1
    assert found["sessions",] == found["ready",] == 1


def test_a_histogram_counts_up_to_each_bound():
    counted = Histogram((1, 2))
    for value in (0.5, 1, 1.5, 9):
        counted.add(value)
    assert counted.cumulative() == [("1", 2), ("2", 3), ("+Inf", 4)]
    assert counted.sum == 12


def test_what_the_device_decides_has_no_acceptance():
    counts = RoundCounts()
    counts.add(4, Verdict(0, 0, 4, (), seconds=0.1), 0.3, decides=False)
    counts.add(4, Signal(Kind.BUSY, 0, 1, 0), 0.3, decides=True)
    assert counts.acceptance is None
    counts.add(4, Verdict(0, 0, 1, (), seconds=0.1), 0.3, decides=True)
    assert counts.acceptance == 0.25
    assert counts.results == {"told": 1, "busy": 1, "refused": 1}
    assert counts.queue_seconds.sum == pytest.approx(0.4)


def test_the_example_dashboard_names_figures_that_there_are():
    dashboard = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text())
    panels = dashboard["panels"]
    asked = " ".join(one["expr"] for panel in panels for one in panel["targets"])
    named = re.findall(r"specsteer_(\w+?)(?:_total|_bucket|_sum|_count)?\b", asked)
    wanted = {"rounds", "queue_seconds", "kv_tokens", "auth_fail", "kv_evictions"}
    assert wanted <= set(named) <= NAMES
