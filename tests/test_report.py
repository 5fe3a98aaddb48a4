"""The report as data: its form, and that it holds all and nothing that is secret."""

import json
from typing import Any

import jsonschema
import pytest

from compare.comparison import compare_scenario
from compare.lanes import load_lanes
from compare.report import report, to_json
from compare.runner import API_KEY
from compare.scenario import CATALOGUE_FOLDER, load

SCHEMA = json.loads((CATALOGUE_FOLDER.parent / "report.schema.json").read_text(encoding="utf-8"))
NAMES = (
    "two-calls-in-one-turn",
    "connection-closed",
    "arguments-lone-surrogate",
    "arguments-beyond-floats",
    "id-missing",
)


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    """A report on scenarios that are hard to write down."""
    lanes = load_lanes("raw")
    return report([compare_scenario(load(CATALOGUE_FOLDER / f"{name}.toml"), lanes) for name in NAMES])


def test_the_schema_is_one() -> None:
    """The schema itself is legal, so that it can refuse."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_report_has_the_form_that_its_schema_describes(data: dict[str, Any]) -> None:
    """Written and read again."""
    jsonschema.validate(json.loads(to_json(data)), SCHEMA)


def test_the_schema_refuses_what_is_not_in_it(data: dict[str, Any]) -> None:
    """A key that nobody described would be a promise by accident."""
    for part in (data, data["comparisons"][0], data["comparisons"][0]["lanes"][0]):
        part["more"] = 1
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data, SCHEMA)
        del part["more"]


def test_every_byte_of_a_request_is_in_it(data: dict[str, Any]) -> None:
    """The body, whole, with the history that the record stores only once."""
    exchanges = data["comparisons"][0]["lanes"][0]["exchanges"]
    bodies = [json.loads(exchange["body"]) for exchange in exchanges]
    assert [len(body["messages"]) for body in bodies] == [1, 4]
    assert [int(dict(exchange["headers"])["Content-Length"]) for exchange in exchanges] == [
        len(exchange["body"].encode()) for exchange in exchanges
    ]


def test_it_holds_no_key_and_no_port(data: dict[str, Any]) -> None:
    """The key is masked; ports stand under volatile alone."""
    ports = [str(run["port"]) for run in data["volatile"]["runs"]]
    rest = to_json({key: value for key, value in data.items() if key != "volatile"})
    assert API_KEY not in rest
    assert not [port for port in ports if f"127.0.0.1:{port}" in rest]


def test_numbers_are_told_as_they_were_spelled(data: dict[str, Any]) -> None:
    """What Python would respell stands as text, and no Infinity gets into the JSON."""
    text = to_json(data)
    assert "1e400" in text
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in the report"))


def test_it_can_always_be_written(data: dict[str, Any]) -> None:
    """Half a surrogate pair in the evidence does not stop the report."""
    data["comparisons"][0]["title"] = "\ud83d"
    assert "\\ud83d" in to_json(data).encode().decode()
