"""docs/reference/rest.md: what a manager can be asked, of its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from book.markdown import code, item, page, paragraph
from meshwright.manager.circle.managing import Manager
from meshwright.manager.rest.reference import fields_of, kind_of
from meshwright.manager.rest.service import service

HEAD = """# REST

What `meshwright manager` and `meshwright up --manage` can be asked over HTTP. A manager shows the
same at `/docs`, with a `curl` command for each, and tells it to programs at `/openapi.json`; these
two are open to all. Every other request carries the token, `Authorization: Bearer TOKEN`; for a GET
the key in the link to the dashboard will do as TOKEN. A body is read as JSON, whatever its
`Content-Type` says. A refusal is a status of 4xx with its `reason` in one sentence. Long work
answers at once with an `id`: ask for that plan until its `state` is no longer making or
applying."""
NO_TOKEN = b"0123456789abcdef"


def rest_page() -> str:
    """The page."""
    document = service(cast("Manager", None), NO_TOKEN).openapi()
    calls = [
        piece
        for path, methods in document["paths"].items()
        for method, asked in methods.items()
        for piece in _call(document, f"{method.upper()} {path}", asked)
    ]
    return page(HEAD, *calls, "## Values", *_values(document["components"]["schemas"]))


def _call(document: Mapping[str, Any], title: str, asked: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {title}"
    yield paragraph(asked["description"])
    yield "\n".join(
        item(f"{code(name)} ({kind_of(field)})", field.get("description", ""))
        for name, field in fields_of(document, asked).items()
    )
    for status, answer in asked["responses"].items():
        content = answer.get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        if status.startswith("2"):
            yield f"Answers {status} with {_answer(schema, content)}."


def _answer(schema: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    if "items" in schema:
        return f"a list of {_answer(schema['items'], content)}"
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    return f"`{next(iter(content))}`"


def _values(schemas: Mapping[str, Any]) -> Iterator[str]:
    """What answers consist of; what is only sent is told with its call."""
    for name, schema in sorted(schemas.items()):
        if name.startswith("Body_"):
            continue
        yield f"### {name}"
        yield paragraph(schema["description"]) if "description" in schema else ""
        yield "\n".join(
            item(f"{code(field)} ({_linked(kind)})", "")
            for field, kind in schema.get("properties", {}).items()
        )
        if "properties" not in schema:
            yield paragraph(f"{_linked(schema).capitalize()}.")


def _linked(field: Mapping[str, Any]) -> str:
    """The type of a field, with a link where it is a value of ours."""
    if "$ref" in field:
        return _answer(field, {})
    if "prefixItems" in field:
        return f"list of {', '.join(map(_linked, field['prefixItems']))}"
    if "items" in field:
        return f"list of {_linked(field['items'])}"
    if "anyOf" in field:
        return " or ".join(map(_linked, field["anyOf"]))
    if isinstance(field.get("additionalProperties"), Mapping):
        return f"object of {_linked(field['additionalProperties'])}"
    return kind_of(field)
