"""A text read as a stream is a text read sentence by sentence: the same memory, to the bit, wherever it
is cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from entnet import EntNet, EntNetConfig, Tracker, Vocab
from entnet.data.running import running_pieces
from entnet.errors import EntNetError
from entnet.models import stream_reader
from entnet.models.stream_reader import Position, StreamReader, joined
from entnet.text import NULL_WORD, UNKNOWN_WORD

WORDS = ["mary", "john", "went", "to", "the", "garden", "kitchen", "where", "is"]
TEXT = (
    "Once upon a time, there was a king. Mary went to the garden.\n\n“Oh!” said he; the queen went to bed. "
    "John went to\nthe kitchen. Mr. Brown--he was old--slept. Mary went to the kitchen. The end"
) * 40


def network(gate: str = "stretched", **options: object) -> EntNet:
    vocab = Vocab.build([*WORDS, NULL_WORD, UNKNOWN_WORD])
    torch.manual_seed(3)
    sizes = {"vocabulary": len(vocab), "sentence_length": 7, "width": 20, "slots": 4}
    config = EntNetConfig(
        **{**sizes, "gate": gate, "gate_threshold": 0.5, "memory_limit": None, **options}
    )
    model = EntNet(config, vocab)
    with torch.no_grad():
        model.embedding *= 6
        model.after_update()
    return model.eval()


def read_one_by_one(model: EntNet, text: str) -> tuple[torch.Tensor, list[str]]:
    tracker, opened = Tracker(model), []
    for piece in running_pieces(text, model.config.sentence_length):
        (read,) = tracker.read_sentences([text[piece.start : piece.end]])
        if max(read.gates) > 0:
            opened.append(" ".join(text[piece.start : piece.end].split()))
    return tracker.state.memory, opened


@pytest.mark.parametrize("gate", ["stretched", "threshold", "sigmoid"])
def test_a_stream_is_read_as_its_sentences_are(gate: str) -> None:
    model = network(gate)
    wanted, opened = read_one_by_one(model, TEXT)
    tracker = Tracker(model)
    found = list(tracker.read_stream(TEXT.splitlines(keepends=True)))
    assert torch.equal(tracker.state.memory, wanted)
    assert [needle.sentence for needle in found] == opened
    if gate != "sigmoid":
        assert 0 < len(opened) < tracker.sentences_read


@pytest.mark.parametrize("block", [1, 50, 1000])
def test_where_blocks_end_does_not_matter(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    model = network()
    whole = StreamReader(model)
    wanted = list(whole.read([TEXT.encode()]))
    monkeypatch.setattr(stream_reader, "BLOCK", block)
    pieces = [TEXT.encode()[i : i + 37] for i in range(0, len(TEXT.encode()), 37)]
    reader = StreamReader(model)
    assert list(reader.read(pieces)) == wanted
    assert torch.equal(reader.memory, whole.memory)
    assert reader.position == whole.position


def test_places_are_those_of_the_text() -> None:
    reader, data = StreamReader(network()), TEXT.encode()
    for needle in reader.read([data]):
        assert " ".join(data[needle.start : needle.end].decode().split()) == needle.sentence
        assert data[: needle.start].count(b"\n") == needle.line - 1
    assert reader.position.words == len(TEXT.split())
    assert reader.position.bytes == len(data)


def test_a_snapshot_goes_on_where_it_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_reader, "BLOCK", 200)
    model, data = network(), TEXT.encode()
    whole = Tracker(model)
    wanted = list(whole.read_stream([data]))

    first = Tracker(model)

    def stop(position: Position) -> None:
        if position.bytes > len(data) // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(first.read_stream([data], stop))
    second = Tracker(model)
    second.restore(first.snapshot())
    at = second.position.bytes
    assert 0 < at < len(data)
    found = [needle for needle in wanted if needle.end <= at]
    found += second.read_stream([data[at:]])
    assert found == wanted
    assert torch.equal(second.state.memory, whole.state.memory)
    assert second.position == whole.position


def test_plain_pytorch_reads_the_same() -> None:
    model = network()
    compiled, plain = StreamReader(model), StreamReader(model)
    plain.stream = None
    words = compiled.cutter.split_all(TEXT.encode()).words
    widest, slots = compiled.scan(words)
    with torch.inference_mode():
        wanted, wanted_slots = plain._scan_in_pytorch(words)
    np.testing.assert_allclose(widest, wanted, atol=1e-5)
    assert np.array_equal(slots[widest > 0], wanted_slots[widest > 0])
    torch.testing.assert_close(compiled.memory, plain.memory)


def test_lines_are_put_together_without_loss() -> None:
    lines = ["a b\n", "c\n", b"d"]
    assert b"".join(joined(lines, 3)) == b"a b\nc\nd"
    assert list(joined([], 3)) == []


def test_networks_that_read_stories_say_so() -> None:
    with pytest.raises(EntNetError, match="stories, not running text"):
        StreamReader(EntNet(EntNetConfig(vocabulary=3), Vocab([NULL_WORD, "a", "b"])))


def test_memory_stays_flat(tmp_path: Path) -> None:
    import tracemalloc

    reader = StreamReader(network())
    tracemalloc.start()
    for _ in reader.read(TEXT.encode() * 10 for _ in range(20)):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30 * stream_reader.BLOCK
