"""Read by schemathesis: what a schema cannot say, a client that keeps to it does all the same."""

import unicodedata
import uuid

import schemathesis

# As many objects as fit into any body, whatever their names.
OBJECTS_MAX = 200


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta.generation.mode.name != "POSITIVE":
        return
    # A key of its own for each request, as a client that does not repeat one sends it.
    if "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if isinstance(case.body, dict):
        case.body = {name: fitting(value) for name, value in case.body.items()}


def fitting(value):
    """Text without invisible characters, and lists that fit into a body."""
    if isinstance(value, str):
        return "".join("x" if is_invisible(each) else each for each in value)
    if isinstance(value, list):
        return value[:OBJECTS_MAX]
    return value


def is_invisible(character):
    return unicodedata.category(character)[0] == "C" or unicodedata.category(character) in ("Zl", "Zp")
