"""The figures that Prometheus reads."""

import json
import re
from pathlib import Path

import pytest

from cloud_api.session import Histogram, RoundCounts
from decoding_core.messages import Kind, Signal, Verdict
from tests.cloud_api.cloud_fakes import (
    ask,
    block_after,
    client_of,
    open_session,
    running,
    send_block,
)

parser = pytest.importorskip("prometheus_client.parser")
ROOT = Path(__file__).parents[3]
NAMES = {
    *("accepted_tokens", "auth_fail", "batch_size", "connections", "draft_tokens"),
    *("http_answers", "info", "kv_budget_tokens", "kv_evictions", "kv_reread_tokens"),
    *("kv_tokens", "model_loaded", "model_loads", "openai_texts", "openai_tokens"),
    *("queue_seconds", "read_seconds", "read_tokens", "ready", "rounds", "sessions"),
    *("start_time_seconds", "streams", "users", "verify_seconds", "waiting_rounds"),
}
"""Dashboards and alerts know them by these names."""


def figures(client):
    text = client.get("/metrics").text
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_figures_have_the_names_that_dashboards_know():
    with running(openai=True) as server, client_of(server) as client:
        text = client.get("/metrics").text
    families = parser.text_string_to_metric_families(text)
    assert {family.name.removeprefix("specsteer_") for family in families} == NAMES


def test_blocks_are_counted_by_what_came_of_them():
    with running() as server, client_of(server) as client:
        session = open_session(client)
        kept = send_block(client, session, block_after([], [1, 2])).accepted
        send_block(client, session, block_after([9, 9], [1], round_=5))
        ask("GET", server.url + "/v1/models")
        found = figures(client)
    assert found["specsteer_draft_tokens_total",] == 2
    assert found["specsteer_accepted_tokens_total",] == kept
    result = "kept" if kept == 2 else "refused"
    assert found["specsteer_rounds_total", ("result", result)] == 1
    assert found["specsteer_rounds_total", ("result", "resync")] == 1
    assert found["specsteer_auth_fail_total", ("reason", "unknown")] == 1
    assert found["specsteer_http_answers_total", ("status", "201")] == 1
    assert found["specsteer_verify_seconds_count",] == 1
    assert found["specsteer_sessions",] == 1
    assert found["specsteer_ready",] == 1


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
    assert set(named) <= NAMES
    assert {"rounds", "queue_seconds", "kv_tokens", "auth_fail", "kv_evictions"} <= set(
        named
    )
