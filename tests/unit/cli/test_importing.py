"""Lines of an import file: what becomes evidence, and what is refused with its line and field."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonlore.api.importing import Batch, ImportOptions, batches, count_lines, read_lines
from commonlore.domain.errors import OperatorError

OPTIONS = ImportOptions(source="notes")


def write(path: Path, *lines: Any) -> Path:
    file = path / "lines.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8")
    return file


def evidence(path: Path, *lines: Any, options: ImportOptions = OPTIONS) -> list[dict[str, Any]]:
    return [line.evidence for line in read_lines(write(path, *lines), options)]


def refusal(path: Path, *lines: Any, options: ImportOptions = OPTIONS) -> str:
    with pytest.raises(OperatorError) as raised:
        list(read_lines(write(path, *lines), options))
    assert raised.value.code == "import_failed"
    return raised.value.message


def test_a_turn_of_a_conversation_keeps_who_said_it_when_and_where(tmp_path: Path) -> None:
    """A line with every field becomes one text with all of them; the id goes into its metadata."""

    line = {
        "text": "I prefer LXDE",
        "speaker": "Ott",
        "time": "2011-11-13T02:59:00Z",
        "session": "s1",
        "sequence": 7,
        "id": "a/1",
        "labels": ["desktop"],
        "metadata": {"channel": "#ubuntu"},
        "source": "log",
        "authority": "primary",
    }

    expected = [
        {
            "content": "I prefer LXDE",
            "source": "log",
            "speaker": "Ott",
            "session": "s1",
            "sequence": 7,
            "authority": "primary",
            "labels": ["desktop"],
            "source_type": "conversation",
            "metadata": {"id": "a/1", "channel": "#ubuntu"},
            "occurred_at": "2011-11-13T02:59:00Z",
        }
    ]
    assert expected == evidence(tmp_path, line)


def test_a_text_alone_is_a_document_of_the_import(tmp_path: Path) -> None:
    """Without a speaker a line is a document, and its source is the name of the import."""

    expected = [{"content": "Release notes", "source": "notes", "source_type": "document", "metadata": {}}]

    assert expected == evidence(tmp_path, {"text": "Release notes"})


def test_turns_are_numbered_inside_their_session(tmp_path: Path) -> None:
    """A missing sequence is the line's place among the lines of the same session."""

    found = evidence(tmp_path, *({"text": f"t{n}", "session": session} for n, session in enumerate("aabab")))

    assert [1, 2, 1, 3, 2] == [item["sequence"] for item in found]


@pytest.mark.parametrize("name", ["time", "timestamp", "occurred_at"])
def test_a_time_without_an_offset_is_refused(tmp_path: Path, name: str) -> None:
    """Nobody guesses a zone: the message names the line, the field and the option."""

    message = refusal(tmp_path, {"text": "a"}, {"text": "b", name: "2011-11-13T02:59:00"})

    assert f"line 2, field {name}: it has no offset from UTC; add one, or give --assume-utc" == message


def test_a_time_without_an_offset_is_read_as_utc_on_request(tmp_path: Path) -> None:
    """--assume-utc adds the offset, to minutes and to seconds with a fraction."""

    options = replace(OPTIONS, assume_utc=True)
    found = evidence(tmp_path, {"text": "a", "time": "2011-11-13 02:59"}, {"text": "b", "time": "2011-11-13T02:59:00.5"}, options=options)

    assert ["2011-11-13T02:59:00Z", "2011-11-13T02:59:00.500000Z"] == [item["occurred_at"] for item in found]


def test_a_field_that_is_not_known_is_refused(tmp_path: Path) -> None:
    """A misspelt field does not vanish silently."""

    assert refusal(tmp_path, {"text": "a", "speeker": "Ott"}).startswith("line 1, field speeker: it is not known")


def test_a_field_that_is_not_known_is_kept_on_request(tmp_path: Path) -> None:
    """--keep-unknown puts it into the metadata."""

    found = evidence(tmp_path, {"text": "a", "channel": "#ubuntu"}, options=replace(OPTIONS, keep_unknown=True))

    assert {"channel": "#ubuntu"} == found[0]["metadata"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "line 2: it is not well-formed JSON in UTF-8"),
        ("[1]", "line 2: expected one JSON object"),
        ({"speaker": "Ott"}, "line 2, field text: it is missing"),
        ({"text": ""}, "line 2, field text:"),
        ({"text": "\u200b"}, "line 2, field text: expected at least one visible character"),
        ({"text": 7}, "line 2, field text:"),
        ({"text": "a", "labels": "b"}, "line 2, field labels:"),
        ({"text": "a", "authority": "king"}, "line 2, field authority:"),
        ({"text": "a", "time": "yesterday"}, "line 2, field time: expected an RFC 3339"),
        ({"text": "a", "time": "2011-11-13T02:59:00Z", "timestamp": "2011-11-13T02:59:00Z"}, "line 2, field time: expected only one"),
        ({"text": "a", "metadata": []}, "line 2, field metadata: expected an object"),
    ],
)
def test_a_wrong_line_is_named_with_its_field(tmp_path: Path, line: Any, expected: str) -> None:
    """Each rule of remember holds before anything is sent."""

    message = refusal(tmp_path, {"text": "fine"}, line)

    assert expected == message[: len(expected)]


def test_a_mark_at_the_beginning_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    """A byte order mark is no part of the first line; blank lines count as lines but are no texts."""

    file = write(tmp_path, "\ufeff" + json.dumps({"text": "a"}), "", {"text": "b"})

    assert [(1, "a"), (3, "b")] == [(line.number, line.evidence["content"]) for line in read_lines(file, OPTIONS)]
    assert count_lines(file) == 2


def made(path: Path, options: ImportOptions, *texts: str) -> list[Batch]:
    return list(batches(read_lines(write(path, *({"text": text} for text in texts)), options), options))


def test_batches_hold_at_most_what_is_asked(tmp_path: Path) -> None:
    """Three lines in batches of two are two batches."""

    assert [2, 1] == [len(batch.lines) for batch in made(tmp_path, replace(OPTIONS, batch=2), "a", "b", "c")]


def test_large_texts_get_batches_of_their_own(tmp_path: Path) -> None:
    """A batch stays below the body limit of the service, however many lines it may have."""

    assert [1, 1] == [len(batch.lines) for batch in made(tmp_path, OPTIONS, "a" * 3_000_000, "b" * 3_000_000)]


def test_the_same_lines_of_the_same_source_have_the_same_key(tmp_path: Path) -> None:
    """A second run repeats the first run's keys; another text, source or space does not."""

    first = made(tmp_path, OPTIONS, "a", "b")[0].idempotency_key

    assert first == made(tmp_path, OPTIONS, "a", "b")[0].idempotency_key
    others = [(OPTIONS, "c"), (replace(OPTIONS, source="x"), "b"), (replace(OPTIONS, target_space="private"), "b")]
    assert first not in [made(tmp_path, options, "a", text)[0].idempotency_key for options, text in others]


def test_a_file_that_cannot_be_read_is_a_stated_failure(tmp_path: Path) -> None:
    """A wrong name is no wrong line: what to do about it is said."""

    with pytest.raises(OperatorError, match="cannot be read") as raised:
        count_lines(tmp_path / "absent.jsonl")

    assert ("file_unreadable", True) == (raised.value.code, "Give the path of a file that is there" in raised.value.entry.remediation)
