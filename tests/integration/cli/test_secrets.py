"""No secret of an installation is written anywhere but where it belongs, also when everything is logged."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx

from tests.integration.cli.conftest import Home, Run, Service


def test_no_secret_is_written_when_everything_is_logged(home: Home, tmp_path: Path, run: Run, start: Callable[..., Service]) -> None:
    """Keys in headers, addresses and bodies, the roles' passwords and the text itself are in no output and no log."""

    secrets = markers(home)
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({"text": "The heron is called Quillfeather."}))
    service = start(home.path, COMMONLORE_LOG_LEVEL="debug")
    with httpx.Client(base_url=service.url, headers={"authorization": f"Bearer {home.key}"}, trust_env=False, timeout=60) as client:
        statuses = [
            client.post("/v1/recall_memory", json={"query": "heron"}).status_code,
            client.post(f"/v1/recall_memory?api_key={home.key}", json={"query": "heron"}).status_code,
            client.get(f"/v1/{home.key}").status_code,
            client.post("/v1/remember", json={"evidence": [{"content": home.key}], "nonsense": home.key}).status_code,
            client.post("/v1/recall_memory", json={"query": "x"}, headers={"authorization": f"Basic {home.key}"}).status_code,
        ]
    extra = {"COMMONLORE_KEY": home.key, "COMMONLORE_URL": service.url, "COMMONLORE_LOG_LEVEL": "debug"}
    outputs = [run(home.path, *words, **extra) for words in (("import", str(file)), ("doctor",), ("key", "list"), ("migrate",))]
    service.stop()
    texts = [service.said, service.log.read_text(), *(part.stdout + part.stderr for part in outputs)]
    texts += [path.read_text(errors="replace") for path in (home.path / "log").iterdir()]

    assert [200, 422, 404, 422, 401] == statuses
    assert [] == [name for name, secret in secrets.items() if any(secret in text for text in texts)]
    assert not any("Quillfeather" in text for text in texts)


def markers(home: Home) -> Mapping[str, str]:
    """The secret part of each: the key's prefix may be shown."""
    roles = json.loads((home.path / "roles.json").read_text())
    return {**roles, "superuser": (home.path / "superuser.password").read_text().strip(), "key": home.key.rsplit("_", 1)[1]}
