"""The description of the interface: whole, with examples, and no request that it allows ends in a fault."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis import openapi
from schemathesis.core import NOT_SET
from schemathesis.core.result import Ok

from tests.server.serving import serving
from tests.small_index import DOCUMENTS, make_index

FORM = "multipart/form-data"


def send(client: TestClient, case: Any) -> Any:
    """Send what schemathesis made up, to the index that is there."""
    if "index" in (case.path_parameters or {}):
        case.path_parameters["index"] = "small"
    content: dict[str, Any] = {}
    if case.body is not NOT_SET and case.media_type == FORM:
        parts = case.body.get("files") if isinstance(case.body, dict) else None
        names = (f"{number}.txt" for number in range(1_000))
        content = {"files": [("files", (next(names), part)) for part in parts or [] if isinstance(part, bytes)]}
    elif case.body is not NOT_SET:
        content = {"json": case.body}
    headers = {name: value for name, value in (case.headers or {}).items() if name.lower() != "host"}
    return client.request(case.method, case.formatted_path, params=case.query or {}, headers=headers, **content)


def check_operation(client: TestClient, operation: Any, statuses: set[int]) -> None:
    """Check that each answer of a route is one that it describes, and collect their statuses."""
    described = operation.definition.raw["responses"]

    @given(operation.as_strategy())
    @settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def check(case: Any) -> None:
        response = send(client, case)
        statuses.add(response.status_code)
        assert str(response.status_code) in described, (case.method, case.formatted_path, response.text)
        kind = response.headers["content-type"].partition(";")[0]
        assert kind in described[str(response.status_code)].get("content", {kind: 0}), case.formatted_path

    check()


@pytest.mark.slow
def test_no_request_ends_in_a_fault(tmp_path: Path) -> None:
    make_index(tmp_path / "index", DOCUMENTS[:6])
    with serving({"small": tmp_path / "index"}) as client:
        schema = openapi.from_dict(client.get("/openapi.json").json())
        operations = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
        assert len(operations) >= 18
        statuses: set[int] = set()
        for operation in operations:
            check_operation(client, operation, statuses)
        assert {200, 202, 400, 404} <= statuses
        assert not [status for status in statuses if status >= 500]


def test_keys_and_limits_of_bodies_are_described(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    (name,) = document["components"]["securitySchemes"]
    scheme = document["components"]["securitySchemes"][name]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert {name: []} in document["security"]
    assert document["paths"]["/health"]["get"]["security"] == []
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            if "requestBody" in route:
                assert "413" in route["responses"], (method, path)
            if path != "/health":
                assert "503" in route["responses"], (method, path)
    removal = document["paths"]["/v1/{index}/documents/{document_id}"]["delete"]["responses"]
    assert {"429", "503", "504"} <= removal.keys()


def test_every_route_is_described_with_its_errors(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    assert len(document["paths"]) >= 16
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            assert route["summary"], (method, path)
            if path == "/health":
                continue
            assert {"401", "429"} <= route["responses"].keys(), (method, path)
            for status, response in route["responses"].items():
                if int(status) >= 400:
                    assert set(response["content"]) == {"application/problem+json"}, (method, path, status)
    bodies = [
        route["requestBody"]["content"]["application/json"]["schema"]
        for methods in document["paths"].values()
        for route in methods.values()
        if "requestBody" in route
    ]
    named = [
        document["components"]["schemas"][body["$ref"].rsplit("/", 1)[1]] if "$ref" in body else body for body in bodies
    ]
    assert len(named) == 8
    assert all(body["examples"] for body in named)
