"""Two gateways before one vLLM, a load of texts, one gateway killed: no token is lost.

Each device reaches the gateways through a relay that prefers one of them, as a proxy
does that balances by address. A gateway holds nothing that the other one needs.
"""

import os
import signal
import statistics
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from decoding_core.messages import OpenSession
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Sent
from edge_app.decoding.session import Patience, VerifierSession
from edge_app.transport.client import CloudVerifier
from models.files import locate
from models.running.loading import load_model
from tests import vllm_server
from tests.relay import Relay
from tests.vllm_server import TOKEN, VllmServer, gateway_of
from tests.waiting import Elapsed

pytestmark = pytest.mark.slow

TEXTS = int(os.environ.get("SPECSTEER_TEXTS", "4"))
TOKENS, DRAFT = 32, 4


@pytest.fixture(scope="module")
def vllm(tmp_path_factory):
    if not vllm_server.PROGRAM.exists():
        pytest.skip("needs vLLM: make vllm")
    for module in ("torch", "transformers", "gguf"):
        pytest.importorskip(module)
    from tests.exported_models import export_folder

    place = tmp_path_factory.mktemp("vllm")
    export_folder(locate("generalist"), place / "generalist")
    server = VllmServer(place / "generalist", place / "log.txt")
    yield server
    server.kill()


class Device:
    """Writes one text of which it drafts what was really written there."""

    def __init__(self, number, example, model, gateways):
        from tests.exported_models import prompts_of

        self.settings = MethodSettings(temperature=0.0, draft_length=DRAFT)
        self.written = model.vocabulary.tokenize(example.text)[:TOKENS]
        prompt = prompts_of(model, example, TOKENS).public_ids
        self.request = OpenSession(
            prompt, (), model.vocabulary_id, self.settings.terms()
        )
        first, second = (one.port for one in gateways)
        if number % 2:
            first, second = second, first
        self.relay = Relay(first, second)
        self.text, self.gaps, self.notices, self.openings = [], [], [], 0

    def write(self, half_way):
        """The settled tokens; `half_way` is told when half of them are."""
        verifier = CloudVerifier(self.relay.url, TOKEN, self._count)
        session = VerifierSession(
            verifier, self.request, self.notices.append, patience=Patience(busy=600.0)
        )
        session.open()
        while len(self.text) < len(self.written):
            drafted = self.written[len(self.text) :][:DRAFT]
            elapsed = Elapsed()
            session.submit(self.text, drafted, 0.5)
            verdict = session.collect(self.text)
            self.gaps.append(elapsed.told())
            assert verdict is not None, "the device went on alone"
            refused = verdict.accepted < len(drafted)
            session.settle(self.text, verdict.accepted, refused=refused)
            self.text += drafted[: verdict.accepted]
            if refused:
                row = verdict.rows[0]
                best = row.generalist_logprobs.argmax()
                self.text.append(int(row.token_ids[best]))
            if len(self.text) >= len(self.written) // 2:
                half_way()
        session.close()
        self.relay.close()
        return self.text

    def _count(self, event):
        if isinstance(event, Sent) and event.what == "open" and event.payload:
            self.openings += 1


def test_no_token_is_lost_with_a_gateway(vllm):
    """The texts are those of a quiet day, tokens that are nearly as likely apart, and
    each that its gateway was taken from was opened once more, from its own tokens."""
    from tests.exported_models import emails_asked_for

    model = load_model(locate("specialist"))
    examples = emails_asked_for(TEXTS, 1)
    base = locate("specialist")

    def load(killing):
        gateways = [gateway_of(vllm, "--base", base) for _ in range(2)]
        killed = threading.Event()

        def half_way():
            if killing and not killed.is_set():
                killed.set()
                gateways[0].end(signal.SIGKILL)

        devices = [
            Device(number, example, model, gateways)
            for number, example in enumerate(examples)
        ]
        elapsed = Elapsed()
        with ThreadPoolExecutor(TEXTS) as pool:
            texts = list(pool.map(lambda one: one.write(half_way), devices))
        seconds = elapsed.told()
        for one in gateways[killing:]:
            one.end()
        return texts, devices, seconds

    quiet, before, quiet_seconds = load(killing=0)
    texts, devices, seconds = load(killing=1)
    model.close()

    lengths = [len(device.written) for device in devices]
    assert [len(text) for text in texts] == [len(text) for text in quiet]
    assert all(len(text) >= size for text, size in zip(texts, lengths, strict=True))
    assert [device.openings for device in before] == [1] * TEXTS
    moved = [device for device in devices if device.openings > 1]
    assert moved
    assert [device.notices for device in devices] == [[]] * TEXTS
    same = sum(one == other for one, other in zip(texts, quiet, strict=True))
    longest = max(max(device.gaps) for device in moved)
    usual = statistics.median(gap for device in before for gap in device.gaps)
    sys.stdout.write(  # for docs/log.md, with -s
        f"{TEXTS} texts of {sum(map(len, texts))} tokens: {quiet_seconds:.1f} s with "
        f"two gateways, {seconds:.1f} s with one killed; {len(moved)} texts moved, "
        f"{same} are the same to the last token; a verdict takes {usual:.2f} s, the "
        f"longest with the move {longest:.2f} s\n"
    )
    assert same >= TEXTS - 1
