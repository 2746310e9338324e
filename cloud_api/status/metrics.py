"""`/metrics`: the figures of the server, as Prometheus reads them.

The names are fixed: dashboards and alerts name them. Labels hold results, roles and
states alone, never a user, a device or anything that was sent.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, Request
from starlette.responses import Response

from cloud_api.sessions.session import Histogram
from cloud_api.status.snapshot import ServerStatus, status_of

BATCHES = (1, 2, 4, 8, 16, 32, 64)
EVICTIONS = ("turn", "budget", "rest")
_FAILURES = {401: "unknown", 403: "scope"}
router = APIRouter()


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """The figures, for a token with the scope `status`."""
    # 30 ms to import, which a server that nobody watches does without.
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
    from prometheus_client.registry import Collector

    status = status_of(request.app.state)

    class Now(Collector):
        def collect(self) -> Iterator[object]:  # type: ignore[override]
            return families(status)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Now())
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def families(status: ServerStatus) -> Iterator[object]:
    """Every figure of a server."""
    from prometheus_client.metrics_core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        InfoMetricFamily,
    )

    def counted(name: str, about: str, label: str, values: dict[str, float]) -> object:
        family = CounterMetricFamily(f"specsteer_{name}", about, labels=[label])
        for key, value in values.items():
            family.add_metric([key], value)
        return family

    def gauge(name: str, about: str, value: float) -> object:
        return GaugeMetricFamily(f"specsteer_{name}", about, value)

    def counter(name: str, about: str, value: float) -> object:
        return CounterMetricFamily(f"specsteer_{name}", about, value)

    def histogram(name: str, about: str, found: Histogram) -> object:
        buckets = found.cumulative()
        return HistogramMetricFamily(
            f"specsteer_{name}", about, buckets=buckets, sum_value=found.sum
        )

    versions = {key.replace("-", "_"): one for key, one in status.versions.items()}
    yield InfoMetricFamily("specsteer", "Versions that run", value=versions)
    yield gauge("start_time_seconds", "When the server started", status.started)
    yield gauge("ready", "1 if sessions can be opened", status.state == "ready")
    rounds = status.rounds
    results = {
        name: float(rounds.results[name])
        for name in ("kept", "refused", "told", "resync", "busy", "error")
    }
    yield counted("rounds", "Blocks answered, by result", "result", results)
    yield counter("draft_tokens", "Drafted tokens decided on", rounds.drafted)
    yield counter("accepted_tokens", "Those that stay", rounds.accepted)
    yield histogram(
        "verify_seconds", "What the models took for a block", rounds.verify_seconds
    )
    yield histogram(
        "queue_seconds", "How long a block waited besides", rounds.queue_seconds
    )
    yield gauge("sessions", "Texts that are remembered", status.sessions.total())
    yield gauge("users", "Users with a text", len(status.sessions))
    yield gauge("waiting_rounds", "Blocks whose answers are being made", status.waiting)
    yield gauge("streams", "Streams that are open", status.streams)
    yield gauge("connections", "Connections that are open", status.connections)
    answers = {str(key): float(n) for key, n in sorted(status.answers.items())}
    yield counted("http_answers", "Requests answered, by status", "status", answers)
    failures = {why: float(status.answers[key]) for key, why in _FAILURES.items()}
    yield counted("auth_fail", "Requests without the right", "reason", failures)
    if status.texts is not None:
        yield gauge("openai_texts", "Texts for other programs", status.texts)
        yield counter("openai_tokens", "Tokens of these", status.text_tokens)
    evictions = {why: float(status.engine.evictions[why]) for why in EVICTIONS}
    about = "Texts that lost their slot before they ended, by why"
    yield counted("kv_evictions", about, "reason", evictions)
    about = "Tokens that these had to read once more"
    yield counter("kv_reread_tokens", about, status.engine.reread)
    about = "Tokens that the slots of a model may hold together"
    yield gauge("kv_budget_tokens", about, status.kv_tokens)
    yield from _of_models(status)


def _of_models(status: ServerStatus) -> Iterator[object]:
    """The figures of each model."""
    from prometheus_client.metrics_core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
    )

    label = ["model"]
    loaded = GaugeMetricFamily(
        "specsteer_model_loaded", "1 if it is in memory", labels=label
    )
    held = GaugeMetricFamily(
        "specsteer_kv_tokens", "Tokens that its slots hold", labels=label
    )
    loads = CounterMetricFamily(
        "specsteer_model_loads", "How often it was loaded", labels=label
    )
    tokens = CounterMetricFamily(
        "specsteer_read_tokens", "Tokens that it has read", labels=label
    )
    seconds = CounterMetricFamily(
        "specsteer_read_seconds", "How long it has read", labels=label
    )
    batch = HistogramMetricFamily(
        "specsteer_batch_size", "Texts read in one pass", labels=label
    )
    for model in status.models:
        loaded.add_metric([model.role], model.loaded)
        held.add_metric([model.role], model.counts.held)
        loads.add_metric([model.role], model.loads)
        tokens.add_metric([model.role], model.counts.tokens)
        seconds.add_metric([model.role], model.counts.seconds)
        sizes = Histogram(BATCHES)
        for size, times in model.counts.batches.copy().items():
            sizes.add(size, times)
        batch.add_metric([model.role], sizes.cumulative(), sizes.sum)
    yield from (loaded, held, loads, tokens, seconds, batch)
