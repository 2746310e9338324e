"""For schemathesis, which knows no vocabulary: half of the requests for a session fit
the fake models, so that the routes of sessions are reached."""

import schemathesis

from tests.cloud_api.cloud_fakes import VOCABULARY, VOCABULARY_ID


@schemathesis.hook
def map_body(context, body):
    """The fake models' vocabulary in a body that names one, and tokens of it."""
    name = body.get("vocabulary_id") if isinstance(body, dict) else None
    if isinstance(name, str) and 0 < len(name) <= 256 and len(name) % 2:
        body["vocabulary_id"] = VOCABULARY_ID
        for key in ("prompt_ids", "text_ids"):
            if isinstance(body.get(key), list):
                body[key] = [
                    one % VOCABULARY if type(one) is int and 0 <= one < 2**31 else one
                    for one in body[key][:100]
                ]
    return body
