"""Words and vocabularies."""

from __future__ import annotations

from pathlib import Path

import pytest

from entnet import Vocab, tokenise
from entnet.text import answer_token


def test_tokenise() -> None:
    assert tokenise("Where is  the milk? ") == ["where", "is", "the", "milk"]
    assert tokenise('After that, "Mary" left!') == ["after", "that", "mary", "left"]
    assert tokenise("Mary isn't here.", lowercase=False) == ["Mary", "isn't", "here"]
    assert tokenise(" . ? ") == []


def test_answers_are_one_token() -> None:
    assert answer_token(" Apple,Football ") == "apple,football"
    assert answer_token("living  room") == "living room"


def test_vocabulary_does_not_depend_on_order() -> None:
    assert Vocab.build(["b", "a", "c"]) == Vocab.build(["c", "b", "a", "a"])
    vocab = Vocab.build(["b", "a"])
    assert vocab.words == ("<null>", "a", "b")
    assert vocab.encode(["b", "x", "a"]) == [2, 0, 1]
    assert vocab.unknown(["x", "a", "y", "x"]) == ["x", "y"]


@pytest.mark.parametrize(
    "content", ["{}", "[1]", '["a"]', '["<null>", "a", "a"]', "nonsense", "[]"]
)
def test_bad_vocabulary_files_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "vocab.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"vocab\.json"):
        Vocab.from_json(path)
