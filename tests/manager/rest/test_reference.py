from __future__ import annotations

from typing import Any, cast

import pytest

from meshwright.manager.circle.managing import Manager
from meshwright.manager.rest.reference import reference_page
from meshwright.manager.rest.service import service


@pytest.fixture
def document() -> dict[str, Any]:
    return service(cast("Manager", None), b"0123456789abcdef").openapi()


def test_the_page_has_every_question_with_its_fields(document: dict[str, Any]) -> None:
    page = reference_page(document, "http://127.0.0.1:8090")
    for path, methods in document["paths"].items():
        for method, asked in methods.items():
            assert f"<code>{method.upper()} {path}</code>" in page
            assert asked["description"].split(";")[0].split("'")[0] in page
    for field in ("degree_max", "remove_brokers", "leader", "since_us", "search", "topic"):
        assert f"<code>{field}</code>" in page
    assert "net or cost" in page
    assert "a list of strings" in page


def test_the_page_needs_nothing_from_elsewhere(document: dict[str, Any]) -> None:
    page = reference_page(document, "http://127.0.0.1:8090")
    assert "<script" not in page
    assert "https://" not in page


def test_every_answer_has_its_fields_in_the_document(document: dict[str, Any]) -> None:
    known = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for asked in methods.values():
            answer = asked["responses"].get("200") or asked["responses"]["202"]
            schema = answer["content"]["application/json"]["schema"]
            if path != "/reports/{name}":  # that is a page
                place = schema.get("$ref") or schema["items"]["$ref"]
                assert known[place.rsplit("/", 1)[1]]["properties"]


def test_refusals_are_documented_as_they_come(document: dict[str, Any]) -> None:
    for methods in document["paths"].values():
        for asked in methods.values():
            for status in ("401", "404", "409", "422"):
                schema = asked["responses"][status]["content"]["application/json"]["schema"]
                assert set(schema["properties"]) == {"reason"}
