"""Reading and asking, sentence by sentence.

    tracker = Tracker.from_pretrained("babi-joint")
    tracker.read("Mary got the milk. Mary went to the garden.")
    tracker.ask("Where is the milk?").answer

``tracker`` reads and asks; ``said`` is what it says of it; ``words`` and ``answers`` are the two ends of
a network, words to numbers and scores to answers; ``slots`` looks into a memory; ``snapshot`` makes bytes
of it.
"""

from entnet.tracker.answers import LIKELY_WRONG, UNKNOWN
from entnet.tracker.said import (
    Answer,
    Guess,
    NearWord,
    NoSlotsError,
    SentenceRead,
    SlotContent,
    SnapshotError,
    TextError,
)
from entnet.tracker.slots import followed_words, load_entity_network, nearest_words
from entnet.tracker.snapshot import SNAPSHOT_FORMAT, SNAPSHOT_VERSION, fingerprint
from entnet.tracker.tracker import Tracker
from entnet.tracker.words import encode_words, words_of

__all__ = [
    "LIKELY_WRONG",
    "SNAPSHOT_FORMAT",
    "SNAPSHOT_VERSION",
    "UNKNOWN",
    "Answer",
    "Guess",
    "NearWord",
    "NoSlotsError",
    "SentenceRead",
    "SlotContent",
    "SnapshotError",
    "TextError",
    "Tracker",
    "encode_words",
    "fingerprint",
    "followed_words",
    "load_entity_network",
    "nearest_words",
    "words_of",
]
