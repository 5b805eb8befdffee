"""A network, and the memory of what it has read so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from entnet.binding import Names, Read
from entnet.data.plain import split_sentences
from entnet.data.running import running_pieces
from entnet.errors import EntNetError
from entnet.models.base import StoryModel, locate
from entnet.models.card import Manner, read_manner
from entnet.models.compiled import stream_for
from entnet.models.memory import MemoryState
from entnet.models.named import ordinals_of
from entnet.models.stream_reader import Needle, Position, StreamReader, Watch, joined
from entnet.ops.streaming import Stream
from entnet.tracker import snapshot as snapshots
from entnet.tracker.answers import best_guesses, judged
from entnet.tracker.clauses import clauses
from entnet.tracker.said import Answer, Guess, NearWord, SentenceRead, SlotContent, SnapshotError
from entnet.tracker.slots import followed_words, nearest_words, with_slots
from entnet.tracker.words import encode_words, words_of


class Tracker:
    """A network and one memory: of constant size, or, of a network without slots, the sentences read.

    Any number of trackers share a network: reading never changes it, so each may run in a thread of its
    own. One tracker is for one thread at a time.
    """

    state: MemoryState
    sentences_read: int
    position: Position
    """How far a stream of text has been read."""
    names: Names | None
    """Who and what the story has named; None where new words are not bound."""

    def __init__(
        self,
        model: StoryModel,
        keys: Sequence[str] | None = None,
        strict: bool = False,
        manner: Manner | None = None,
    ) -> None:
        """``keys``: the words that slots or candidates stand for, where they come with the story.

        With ``strict``, words never seen in training are refused, not named and read as nothing. A network
        without slots keeps the sentences, and reads them again when it is asked; it shows no slots.
        ``manner``, from a network's card, says which new words may be bound, and how sure it really is.
        """
        self.model = model.eval()
        self.strict = strict
        self.manner = manner or Manner()
        self._names_slots = getattr(model.config, "keys", "") == "named"
        self._keys = _key_words(model, keys)
        self._story_keys = (
            torch.tensor([model.vocab.encode(self._keys)]) if model.keys_per_story else None
        )
        self.reset()

    @classmethod
    def from_pretrained(cls, source: Path | str, strict: bool = False, bind: bool = True) -> Self:
        """A tracker of its own network, from a directory or by name (see ``entnet models``).

        Without ``bind``, and with ``strict``, new words are not bound to known ones.
        """
        directory = locate(source)  # once: it may be on the hub
        manner = read_manner(directory)
        if strict or not bind:
            manner = manner._replace(places=None)
        return cls(StoryModel.from_pretrained(directory), strict=strict, manner=manner)

    @property
    def key_words(self) -> tuple[str, ...]:
        """The words that slots stand for, as the story says them; empty where keys are free.

        Where a word has several slots, the second is "Mary 2", and so on.
        """
        if self._names_slots:
            named, words = self.state.named, self.model.vocab.words
            return tuple(
                self._told(words[number]) + (f" {ordinal + 1}" if ordinal else "")
                for number, ordinal in zip(named, ordinals_of(named), strict=True)
            )
        return tuple(map(self._told, self._keys))

    # Reading.

    def read(self, text: str) -> list[SentenceRead]:
        """Read a text, sentence by sentence, and say what each did. Reads all of it or nothing."""
        if not self.model.vocab.reads_running_text:
            return self.read_sentences(split_sentences(text))
        pieces = running_pieces(text, self.model.config.sentence_length)
        return self.read_sentences([text[piece.start : piece.end] for piece in pieces])

    def read_sentences(self, sentences: Sequence[str]) -> list[SentenceRead]:
        """The same for text that is cut into sentences already."""
        encoded: list[tuple[str, list[int], tuple[str, ...], Read | None]] = []
        names = self.names
        for text, tokens, passed_over in self._clauses(sentences):
            read = None
            if names is not None:
                read = names.read(tokens, self.model.vocab.index)
                names, tokens = read.names, read.words
            words, unknown = encode_words(self.model, tokens, self.strict)
            if read is not None:
                unknown = (*passed_over, *read.left_out, *unknown)
            encoded.append((text, words, unknown, read))
        stream = stream_for(self.model)
        done: list[SentenceRead] = []
        for text, words, unknown, read in encoded:
            gates, moved = self._step(words, stream)
            bound, unbound = (read.new, read.unbound) if read is not None else ((), ())
            done.append(SentenceRead(text, gates, moved, unknown, bound, unbound))
        self.names = names
        self.sentences_read += len(done)
        return done

    def _clauses(
        self, sentences: Sequence[str]
    ) -> Iterator[tuple[str, list[str], tuple[str, ...]]]:
        """Each sentence, its words, and those passed over before it: none, unless it is part of one that is
        longer than those of training, and was cut into clauses that were told there."""
        longest, known = self.model.config.longest_sentence, self.model.vocab.index
        for sentence in sentences:
            text, tokens = words_of(self.model, sentence)
            if self.names is not None and len(tokens) > longest:
                found = clauses(self.names, tokens, known, longest)
                yield from ((" ".join(words), words, over) for words, over in found)
                if found:
                    continue
            yield text, tokens, ()

    def read_stream(
        self, lines: Iterable[str | bytes], watch: Watch | None = None
    ) -> Iterator[Needle]:
        """Read running text of any length, such as an open file, and give the sentences that opened a gate.

        For networks that read such text (``long``). The tracker's memory follows, block by block, as
        the sentences found are taken from the iterator; ``watch`` is told how far it has come. It can
        be kept with ``snapshot``.
        """
        reader = StreamReader(with_slots(self.model), self.state, self.position)

        def follow(position: Position) -> None:
            self.sentences_read += position.sentences - self.position.sentences
            self.state = self.state._replace(memory=reader.memory.unsqueeze(0))
            self.position = position
            if watch is not None:
                watch(position)

        yield from reader.read(joined(lines), follow)

    def _step(
        self, words: list[int], stream: Stream | None
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Read one sentence into the memory; says how far the gates opened, and how far slots moved."""
        state, beside = self.state, words
        if self._names_slots:
            state, beside = with_slots(self.model).heard(state, words)
        if stream is not None:
            memory, opened, moved = stream.step_numbers(state.memory, state.keys, beside)
            self.state = state._replace(memory=memory)
            return tuple(opened), tuple(moved)
        with torch.no_grad():
            self.state, gates = self.model.step(self.state, self._there(words))
        if not self.model.slot_count:
            return (), ()
        by = torch.linalg.vector_norm(self.state.memory - state.memory, dim=-1)
        return tuple(gates[0].tolist()), tuple(by[0].tolist())

    # Asking.

    def ask(self, question: str, alternatives: int = 4) -> Answer:
        """Answer from the memory as it is now; asking changes nothing."""
        text, tokens = words_of(self.model, question)
        why = self._why_unknown(tokens)
        read = tokens
        if self.names is not None:
            read = self.names.asked(tokens, self.model.vocab.index)
        words, unknown = encode_words(self.model, read, self.strict)
        scores, attention = self._scores(words)
        names, first = self.model.vocab.words, 1  # the null word is no answer
        if self.model.answers == "candidates":
            names, first = self._keys, 0
        best = best_guesses(scores, first, alternatives + 1, self.manner.temperature)
        guesses = [Guess(self._told(names[place]), chance) for place, chance in best]
        guesses, why = judged(guesses, why, self.manner.least_probability)
        return Answer(
            question=text,
            answer=guesses[0].word,
            probability=guesses[0].probability,
            alternatives=tuple(guesses[1 : alternatives + 1]),
            attention=tuple(attention),
            unknown=unknown,
            why_unknown=why,
        )

    def _scores(self, words: list[int]) -> tuple[Tensor, list[float]]:
        """Scores of the answers to a question, and the attention on slots."""
        stream = stream_for(self.model)
        if stream is not None:
            return stream.read_numbers(self.state.memory, words)
        with torch.no_grad():
            reading = self.model.read(self.state, self._there(words))
        return reading.scores[0], reading.attention[0].tolist()

    def _there(self, words: list[int]) -> Tensor:
        """Words of one sentence, (1, L), on the device of the memory."""
        return torch.tensor([words]).to(self.state.memory.device)

    def _why_unknown(self, question: Sequence[str]) -> str | None:
        """Why a question cannot be answered, as far as the words tell."""
        if self.sentences_read == 0:
            return "nothing was told yet"
        if self.names is None:
            return None
        return self.names.why_unknown(question, self.model.vocab.index)

    def _told(self, word: str) -> str:
        return word if self.names is None else self.names.told(word)

    # Looking into slots.

    def slots(self, words: int = 3) -> list[SlotContent]:
        """What each slot holds: the words whose rows of R are nearest to φ(H h_j). Empty without slots."""
        if not self.model.slot_count:
            return []
        near, follows = self.holds(words), self.follows(words)
        keys = self.key_words or [None] * len(near)
        return [SlotContent(slot, key, follows[slot], near[slot]) for slot, key in enumerate(keys)]

    def holds(self, words: int = 3) -> tuple[tuple[NearWord, ...], ...]:
        """For each slot, the words nearest to what it says."""
        return self.hold([self], words)[0]

    @staticmethod
    def hold(moments: Sequence[Tracker], words: int) -> list[tuple[tuple[NearWord, ...], ...]]:
        """The same for several moments of a story, forks of one tracker; each has names of its own."""
        first = moments[0]
        memories = [moment.state.memory for moment in moments]
        if len({memory.shape for memory in memories}) > 1:  # slots were named on the way
            return [moment.holds(words) for moment in moments]
        near = nearest_words(first.model, first.state._replace(memory=torch.cat(memories)), words)
        return [moment._told_rows(rows) for moment, rows in zip(moments, near, strict=True)]

    def follows(self, words: int = 3) -> tuple[tuple[NearWord, ...], ...]:
        """For each slot, the words whose embeddings are nearest to its key."""
        return self._told_rows(followed_words(self.model, self.state, words))

    def _told_rows(self, rows: list[list[NearWord]]) -> tuple[tuple[NearWord, ...], ...]:
        return tuple(
            tuple(NearWord(self._told(near.word), near.similarity) for near in row) for row in rows
        )

    # The state as a value.

    def reset(self) -> None:
        """Forget everything that was read: slots go back to their keys."""
        with torch.no_grad():
            self.state = self.model.initial_state(self._story_keys)
        self.names = Names(self.manner.places) if self.manner.places else None
        self.sentences_read = 0
        self.position = Position()

    def fork(self) -> Tracker:
        """A second tracker that goes on from here, for a what-if. Cheap: states are values."""
        return copy(self)

    def snapshot(self) -> bytes:
        """The memory as bytes (safetensors, no code), to be restored with the same network."""
        members = self.names.members if self.names else {}
        about = self.names.about if self.names else ""
        kept = snapshots.Kept(
            self.state.memory[0],
            self.state.named,
            self.state.context,
            self._keys,
            self.sentences_read,
            self.position,
            members,
            about,
        )
        return snapshots.to_bytes(self.model, kept)

    def restore(self, snapshot: bytes) -> None:
        """Go back to a snapshot; bytes that are not one of this network's change nothing."""
        kept = snapshots.from_bytes(self.model, self._keys, snapshot)
        places = self.manner.places
        if kept.members and places is None:
            raise SnapshotError("the snapshot has new names bound, which is off here")
        if places is not None and not places.kind_of.keys() >= set(kept.members.values()):
            raise SnapshotError("a snapshot whose names stand for no names of the network")
        keys = self.state.keys
        if self._names_slots:
            keys = with_slots(self.model).keys_of(kept.named)
        snapshots.check_memory(self.model, kept.memory, self.state, keys)
        memory = kept.memory.unsqueeze(0).to(self.state.memory.device)
        self.state = MemoryState(memory, keys, kept.named, kept.context)
        if places is not None:
            self.names = Names(places, kept.members, kept.about)
        self.sentences_read = kept.sentences_read
        self.position = kept.position


def _key_words(model: StoryModel, given: Sequence[str] | None) -> tuple[str, ...]:
    wanted = model.keys_per_story
    if not wanted:
        own: tuple[str, ...] = getattr(model.config, "key_words", ())
        if given is not None and tuple(given) != own:
            raise EntNetError("this network has keys of its own; it takes none from the story")
        return () if getattr(model.config, "keys", "") == "named" else own
    if given is None or len(given) != wanted:
        count = "none" if given is None else str(len(given))
        raise EntNetError(
            f"this network takes its keys from the story: {wanted} words, and {count} came"
        )
    return tuple(given)
