"""What goes over the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Body(BaseModel):
    """What a client sends: fields that are not known are a mistake worth telling."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ProblemOut(BaseModel):
    """What was wrong, and what would be right."""

    detail: str


class Near(BaseModel):
    word: str
    similarity: float = Field(description="A cosine, -1 to 1.")


class Chance(BaseModel):
    word: str
    probability: float


class Health(BaseModel):
    status: Literal["ok"]
    version: str
    sessions: int


class ModelOut(BaseModel):
    name: str
    title: str | None = Field(description="What it was trained on, where that is known.")
    task: int | None = Field(description="The bAbI task it is for; none for several at once.")
    test_error: float | None = Field(description="In percent, on the official test file.")
    slots: int
    width: int
    words: int = Field(description="Words it knows.")
    longest_sentence: int
    keys: Literal["free", "tied", "story"]
    parameters: int


class Models(BaseModel):
    default: str
    models: list[ModelOut]


class KindOut(BaseModel):
    name: str = Field(examples=["person"])
    members: list[str]


class ModelDetail(ModelOut):
    vocabulary: list[str]
    kinds: list[KindOut] = Field(
        description="Words that are interchangeable to it; a new word of a kind is read as one of them."
    )


class TaskOut(BaseModel):
    task: int
    name: str


class QuestionOut(BaseModel):
    after: int = Field(description="How many sentences have been told when it is asked.")
    question: str
    answer: str = Field(description="The right answer; empty where the text does not give it.")
    supports: list[int] = Field(description="Sentences that the answer follows from, from 0.")


class StoryOut(BaseModel):
    sentences: list[str]
    questions: list[QuestionOut]


class FreshStory(StoryOut):
    task: int
    seed: int


class ParseIn(Body):
    text: str = Field(examples=["Mary got the milk. Where is the milk?"])


class SnapshotOut(Body):
    format: Literal["entnet-session"] = "entnet-session"
    version: Literal[1] = 1
    model: str
    sentences: list[str]
    state: str = Field(description="The memory: safetensors in base64.")


class SessionIn(Body):
    model: str | None = Field(default=None, description="A network's name; none for the default.")
    text: str | None = Field(default=None, description="Sentences to begin with.")
    snapshot: SnapshotOut | None = Field(
        default=None, description="Go on from a snapshot; its network is used."
    )


class SessionOut(BaseModel):
    id: str
    model: str
    sentences: list[str]
    idle_seconds: float = Field(description="After so long without use the session is dropped.")


class ReadIn(Body):
    text: str = Field(examples=["Mary went to the garden."])


class BoundOut(BaseModel):
    word: str = Field(description="A new word of the story.")
    kind: str = Field(description="What it is: a person.")
    member: str = Field(description="The word that the network reads in its place.")


class UnboundOut(BaseModel):
    word: str
    reason: str = Field(description="Why it stays unknown.")


class SentenceOut(BaseModel):
    sentence: str
    gates: list[float] = Field(description="How far each slot opened, 0 to 1.")
    movement: list[float] = Field(description="How far each slot moved.")
    unknown: list[str] = Field(description="Words never seen in training, read as nothing.")
    bound: list[BoundOut] = Field(
        default=[], description="New words, taken for words of their kind."
    )
    unbound: list[UnboundOut] = Field(
        default=[], description="Of the unknown words, what is in the way."
    )


class ReadOut(BaseModel):
    sentences_read: int = Field(description="In the whole session.")
    read: list[SentenceOut]


class AskIn(Body):
    question: str = Field(examples=["Where is Mary?"])
    after: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Ask as of so many sentences; none for now."
    )
    alternatives: int = Field(default=4, ge=0, le=50)


class AnswerOut(BaseModel):
    question: str
    answer: str
    probability: float
    alternatives: list[Chance] = Field(description="The next best, most probable first.")
    attention: list[float] = Field(description="Share of each slot in the answer.")
    unknown: list[str]
    known: bool = Field(
        description="Whether the story tells the answer, as far as the network knows."
    )
    why_unknown: str | None = Field(description="Why not, where it does not.")
    after: int


class TellIn(Body):
    text: str = Field(
        description="Sentences and questions; what ends with a question mark is asked where it stands.",
        examples=["Mary got the milk. Where is the milk? Mary went to the garden."],
    )
    alternatives: int = Field(default=4, ge=0, le=50)


class TellOut(BaseModel):
    sentences_read: int = Field(description="In the whole story.")
    read: list[SentenceOut]
    answers: list[AnswerOut]


class StatelessIn(TellIn):
    model: str | None = Field(default=None, description="A network's name; none for the default.")
    snapshot: SnapshotOut | None = Field(
        default=None, description="Go on from here; its network is used."
    )


class StatelessOut(TellOut):
    snapshot: SnapshotOut = Field(description="To be sent with what comes next.")


class SlotOut(BaseModel):
    slot: int
    key: str | None = Field(description="The word its key is tied to, if it is.")
    follows: list[Near] = Field(description="Words nearest to its key: what makes it open.")
    words: list[Near] = Field(description="What it holds: nearest words, nearest first.")


class SlotsOut(BaseModel):
    after: int
    slots: list[SlotOut]


class SlotNameOut(BaseModel):
    slot: int
    key: str | None
    follows: list[Near]


class StepOut(SentenceOut):
    words: list[list[Near]] = Field(description="What every slot holds after the sentence.")


class TraceOut(BaseModel):
    model: str
    slots: list[SlotNameOut]
    start: list[list[Near]] = Field(description="What every slot holds before the story.")
    steps: list[StepOut]


class UndoIn(Body):
    sentences: int = Field(default=1, ge=1)
