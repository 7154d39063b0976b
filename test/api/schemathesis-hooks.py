"""Read by schemathesis: a key of its own for each request, as a client that does not repeat one sends it."""

import uuid

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    if "Idempotency-Key" in (case.headers or {}) and case.meta.generation.mode.name == "POSITIVE":
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
