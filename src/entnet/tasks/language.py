"""Training the LSTM language model on the running text of the training books."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from entnet.config import Config, TrainConfig
from entnet.models.baselines.kneser_ney import END
from entnet.models.baselines.lstm_language import LanguageConfig, LanguageModel, State
from entnet.text import Vocab
from entnet.training.engine import load_optimiser_state, optimiser_state
from entnet.training.learner import BatchResult
from entnet.training.schedule import ScheduledTask
from entnet.training.trainer import Epoch, Trainer, TrainingScore, ValidationScore


@dataclass(frozen=True)
class LanguageOptions(Config):
    """How the text is read."""

    least: int = 5
    """A word is known if the training books have it so often; the others are one unknown word."""
    streams: int = 64
    """Stretches of text read side by side."""
    steps: int = 35
    """Words between two updates."""
    sample: int = 1000
    """Words that each update tells the right ones from."""
    parts: int = 50
    """Epochs per pass over the text, so that an interrupted run loses little."""

    def check(self) -> None:
        self.at_least(1, "streams", "steps", "sample", "parts")


@dataclass(frozen=True)
class Stretch:
    """The words of an update: in each stream some steps and the word that follows them."""

    words: Tensor
    sample: Tensor
    first: bool
    """Whether it begins a pass over the text."""

    @property
    def sentences(self) -> int:
        return self.words.shape[0]


class TextSource:
    """The text in streams, read from the beginning to the end."""

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        options: LanguageOptions,
        config: TrainConfig,
    ) -> None:
        counts = Counter(word for text in sentences for word in text)
        self.vocab = Vocab.build([END, *(w for w, n in counts.items() if n >= options.least)])
        text = np.array(
            [number for text in sentences for number in self.vocab.encode([*text, END])],
            dtype=np.int64,
        )
        self.options, self.seed = options, config.seed
        frequency = torch.from_numpy(np.bincount(text, minlength=len(self.vocab))).double()
        self.chance = frequency.pow(0.75) / frequency.pow(0.75).sum()
        unseen = torch.exp(options.sample * torch.log1p(-self.chance))
        self.expected = (1 - unseen).clamp_min(1e-12).float()
        """How often each word is expected in a sample."""
        whole = len(text) // options.streams * options.streams
        self.streams = torch.from_numpy(text[:whole]).view(options.streams, -1)
        self.updates_per_pass = -(-(self.streams.shape[1] - 1) // options.steps)

    def epoch(self, number: int) -> Epoch:
        passed, part = divmod(number - 1, self.options.parts)
        first, last = (
            self.updates_per_pass * place // self.options.parts for place in (part, part + 1)
        )
        before = passed * self.updates_per_pass
        return Epoch(self._stretches(range(first, last), before), last - first, number)

    def _stretches(self, places: range, before: int) -> Iterator[Stretch]:
        steps = self.options.steps
        for place in places:
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + before + place)
            yield Stretch(
                self.streams[:, place * steps : (place + 1) * steps + 1],
                torch.multinomial(self.chance, self.options.sample, generator=generator),
                place == 0,
            )


class LanguageEngine:
    """Truncated backpropagation through time: the state goes on from one update to the next."""

    name = "torch"

    def __init__(self, model: LanguageModel, expected: Tensor, config: TrainConfig) -> None:
        self.model, self.expected, self.config = model, expected, config
        self.optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, foreach=True)
        self.carried: State | None = None

    def step(self, batch: Stretch, rate: float) -> BatchResult:
        model, words = self.model, batch.words
        model.train()
        out, state = model.read(words[:, :-1], None if batch.first else self.carried)
        self.carried = (state[0].detach(), state[1].detach())
        states = out.reshape(-1, model.config.units)
        following = words[:, 1:].reshape(-1)
        scores = model.sampled_scores(states, following, batch.sample, self.expected)
        loss = -torch.log_softmax(scores, 1)[:, 0].mean()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), self.config.max_grad_norm)
        self.optimizer.step()
        errors = int((scores.argmax(1) != 0).sum())  # among the sample, that is
        return BatchResult(loss.item() * len(following), errors, len(following))

    def state(self) -> dict[str, Tensor]:
        held = optimiser_state(self.optimizer)
        if self.carried is not None:
            held |= {"hidden": self.carried[0], "cell": self.carried[1]}
        return held

    def load_state(self, state: dict[str, Tensor]) -> None:
        state = dict(state)
        if "hidden" in state:
            self.carried = (state.pop("hidden"), state.pop("cell"))
        load_optimiser_state(self.optimizer, state)


class LanguageTask(ScheduledTask):
    """Nothing is chosen: the last network is kept. Questions are scored once it is trained."""

    def validate(self, engine: Any, epoch: int, training: TrainingScore) -> ValidationScore:
        self.progress.best_epoch = epoch
        return ValidationScore(None, None, better=True)

    def test(self, engine: Any) -> dict[str, Any]:
        return {}


def language_trainer(
    directory: Path | str,
    sentences: Sequence[Sequence[str]],
    model_config: LanguageConfig,
    options: LanguageOptions,
    config: TrainConfig,
    about: dict[str, Any] | None = None,
    checkpoint_seconds: float = 60.0,
) -> Trainer:
    """A run on running text, ready to start."""
    source = TextSource(sentences, options, config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = LanguageModel(model_config, source.vocab)
    return Trainer(
        directory,
        model,
        LanguageEngine(model, source.expected, config),
        source,
        LanguageTask(config),
        config,
        about,
        checkpoint_seconds,
    )
