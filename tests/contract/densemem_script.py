"""Runs in the environment of the published client, which knows nothing of this repository.

Reads JSON objects from stdin, one a line: {"endpoint", "token", "mode": "sync"|"async", "steps": [[method, request], ...]}.
Answers each with one line: {"version", "answers"}, an answer a step: {"result"} or {"error": its class and fields}. A tool that the client has no method for is called by its own way to call any. A result
that does not fit the client's own types is an error of the class `ShapeError`. "$name" in a request stands for an id from an
earlier result of the same line.
"""

import asyncio
import importlib.metadata
import json
import sys
import types
import typing

import densemem

SHAPES = {
    "remember": densemem.RememberResult,
    "recall_memory": densemem.RecallResult,
    "trace_memory": densemem.TraceResult,
    "ingest_session": densemem.SessionResult,
}
ERROR_FIELDS = ("code", "next_action", "remediation", "retryable", "status_code", "rpc_code", "correlation_id")


def require(kind, value, where):
    """Raises ValueError where `value` is not of the type `kind`; keys that the type does not name are let pass."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.NotRequired:
        require(arguments[0], value, where)
    elif origin in (typing.Union, types.UnionType):
        if not any(fits(argument, value) for argument in arguments):
            raise ValueError(f"{where}: {value!r:.80} is not {kind}")
    elif origin is typing.Literal:
        if value not in arguments:
            raise ValueError(f"{where}: {value!r:.80} is none of {arguments}")
    elif kind is not typing.Any:
        require_instance(dict if typing.is_typeddict(kind) else origin or kind, value, where)
        for name, item, inner in inside(kind, value, where):
            require(inner, item, f"{where}/{name}")


def require_instance(kind, value, where):
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise ValueError(f"{where}: {value!r:.80} is not {kind}")


def inside(kind, value, where):
    """Name, value and type of each piece of a container."""
    if typing.is_typeddict(kind):
        missing = kind.__required_keys__ - set(value)
        if missing:
            raise ValueError(f"{where}: {sorted(missing)} missing")
        return [(name, value[name], inner) for name, inner in typing.get_type_hints(kind).items() if name in value]
    if typing.get_origin(kind) is list:
        return [(place, item, typing.get_args(kind)[0]) for place, item in enumerate(value)]
    if typing.get_origin(kind) is dict:
        return [(name, item, typing.get_args(kind)[1]) for name, item in value.items()]
    return []


def fits(kind, value):
    try:
        require(kind, value, "")
    except ValueError:
        return False
    return True


def learn(known, method, result):
    if method == "list_dreams":
        known["$hypothesis"] = result["dreams"][0]["hypothesis_id"] if result["dreams"] else None
    if method == "remember":
        splits = [split for item in result["relationship_results"] for split in item["splits"]]
        known["$relationship"] = splits[0]["relationship_id"] if splits else None
        known["$evidence"] = result["evidence"][0]["evidence_id"]


def filled(known, value):
    if isinstance(value, dict):
        return {name: filled(known, item) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(known, item) for item in value]
    return known.get(value, value) if isinstance(value, str) else value


def described(error):
    return {"class": type(error).__name__, "message": str(error), **{name: getattr(error, name, None) for name in ERROR_FIELDS}}


def checked(method, result):
    if method in SHAPES:
        require(SHAPES[method], result, method)
        return result
    return result if isinstance(result, dict) else result.model_dump(mode="json")


def finish(answers, known, method, outcome):
    if isinstance(outcome, BaseException):
        answers.append({"error": described(outcome)})
        return
    try:
        answers.append({"result": checked(method, outcome)})
        learn(known, method, outcome)
    except ValueError as error:
        answers.append({"error": {"class": "ShapeError", "message": str(error)}})


def call(client, method, request):
    if hasattr(client, method):
        return getattr(client, method)(*([] if request is None else [request]))
    if isinstance(client, densemem.SyncDenseMemClient):
        return client._run(lambda: client._async._execute(method, request))
    return client._execute(method, request)


def run_sync(asked):
    client = densemem.SyncDenseMemClient(asked["endpoint"], token=asked["token"], timeout=30)
    answers, known = [], {}
    for method, request in asked["steps"]:
        try:
            outcome = call(client, method, filled(known, request))
        except densemem.DenseMemError as error:
            outcome = error
        finish(answers, known, method, outcome)
    return answers


async def run_async(asked):
    client = densemem.DenseMemClient(asked["endpoint"], token=asked["token"], timeout=30)
    answers, known = [], {}
    for method, request in asked["steps"]:
        try:
            outcome = await call(client, method, filled(known, request))
        except densemem.DenseMemError as error:
            outcome = error
        finish(answers, known, method, outcome)
    return answers


def main():
    for line in sys.stdin:
        asked = json.loads(line)
        answers = run_sync(asked) if asked["mode"] == "sync" else asyncio.run(run_async(asked))
        print(json.dumps({"version": importlib.metadata.version("densemem"), "answers": answers}), flush=True)


if __name__ == "__main__":
    main()
