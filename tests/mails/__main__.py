"""Writes generated mails as cases for `specsteer lab bench cleaning`: COUNT SEED."""

import json
import sys
from dataclasses import asdict

from tests.mails import generated

cases = [asdict(case) for case in generated(int(sys.argv[1]), int(sys.argv[2]))]
json.dump({"case": cases}, sys.stdout)
