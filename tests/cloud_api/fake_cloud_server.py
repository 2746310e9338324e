"""The command `specsteer-cloud` over fake models: run by tests as a process."""

import os
import sys

from cloud_fakes import fake_models

from cloud_api import serving
from cloud_api.cli import main
from tests.waiting import forever


def stay(_):
    sys.stderr.write("stuck\n")
    sys.stderr.flush()
    forever()


def load(options):
    kind = os.environ.get("FAKE_MODELS", "")
    if kind == "slow":
        forever()
    models = fake_models(seats=options.seats)
    if kind == "faulty":
        models.base.fault = lambda _: RuntimeError(f"canary-4242 {models.base.held}")
    if kind == "stuck":
        models.base.fault = stay
    return models


serving.load_models = load
main()
