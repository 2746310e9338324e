"""The command `specsteer-cloud` over fake models: run by tests as a process."""

import os
import sys

from cloud_api import run
from cloud_api.cli import main
from tests.cloud_api.cloud_fakes import fake_models, with_text
from tests.waiting import forever


def stay(_):
    sys.stderr.write("stuck\n")
    sys.stderr.flush()
    forever()


def load(options, progress):
    kind = os.environ.get("FAKE_MODELS", "")
    if kind == "slow":
        progress.role, progress.share = "generalist", 0.25
        forever()
    models = fake_models(slots=options.slots)
    if kind == "faulty":
        models.base.fault = lambda _: RuntimeError(f"canary-4242 {models.base.held}")
    if kind == "stuck":
        models.base.fault = stay
    return with_text(models)


run.load_models = load
main()
