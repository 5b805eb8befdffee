"""Training the LSTM language model on the running text of the training books.

A run keeps a file with its weights and its place in the text; started again, it goes on exactly, as each
update draws its sample from the seed and its own number.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from entnet.experiments.cbt_training import Tell
from entnet.models.cbt.kneser_ney import END
from entnet.models.cbt.lstm_language import LanguageConfig, LanguageModel, State
from entnet.text import Vocab
from entnet.training.checkpoint import Checkpoint

TOLD_EVERY = 500
"""Updates between two lines about how it goes."""


class LanguageRun:
    """A language model in training."""

    def __init__(self, sentences: Sequence[Sequence[str]], config: LanguageConfig) -> None:
        counts = Counter(word for text in sentences for word in text)
        vocab = Vocab.build([END, *(word for word, n in counts.items() if n >= config.least)])
        text = np.array(
            [number for text in sentences for number in vocab.encode([*text, END])], dtype=np.int64
        )
        self.config = config
        self.model = LanguageModel(config, vocab)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=config.rate, foreach=True)
        frequency = torch.from_numpy(np.bincount(text, minlength=len(vocab))).double().pow(0.75)
        self.chance = frequency / frequency.sum()
        unseen = torch.exp(config.sample * torch.log1p(-self.chance))
        self.expected = (1 - unseen).clamp_min(1e-12).float()
        whole = len(text) // config.streams * config.streams
        self.streams = torch.from_numpy(text[:whole]).view(config.streams, -1)
        self.per_epoch = -(-(self.streams.shape[1] - 1) // config.steps)
        self.updates = 0
        self.state: State | None = None
        self.seconds = 0.0
        """Of processor time."""
        self.losses: list[float] = []
        """Mean loss of each so many updates."""
        self._recent: list[float] = []

    @property
    def finished(self) -> bool:
        return self.updates >= self.per_epoch * self.config.epochs

    def train(self, file: Path, tell: Tell, save_every: float = 60.0) -> dict[str, Any]:
        """Train to the end from wherever ``file`` stands; what training came to."""
        self._resume(file)
        saved = time.monotonic()
        while not self.finished:
            self._update()
            if self.updates % TOLD_EVERY == 0 or self.finished:
                self.losses.append(round(float(np.mean(self._recent)), 4))
                self._recent.clear()
                share = self.updates / self.per_epoch
                tell(
                    f"{file.stem}: {share:.2f} of {self.config.epochs} epochs, "
                    f"loss {self.losses[-1]:.3f}, {self.seconds:.0f} s of CPU"
                )
                # Between two lines nothing is kept: what is repeated then gives the same losses.
                if time.monotonic() - saved > save_every or self.finished:
                    self._save(file)
                    saved = time.monotonic()
        self.model.eval()
        return {
            "words": self.config.epochs * self.streams.numel(),
            "epochs": self.config.epochs,
            "curve": self.losses,
            "cpu_seconds": round(self.seconds, 1),
        }

    def _update(self) -> None:
        began = time.process_time()
        config, model = self.config, self.model
        place = self.updates % self.per_epoch
        if place == 0:
            self.state = None
        first = place * config.steps
        words = self.streams[:, first : first + config.steps + 1]
        generator = torch.Generator().manual_seed(config.seed * 1_000_003 + self.updates)
        sample = torch.multinomial(self.chance, config.sample, generator=generator)
        out, state = model.read(words[:, :-1], self.state)
        self.state = (state[0].detach(), state[1].detach())
        states = out.reshape(-1, config.units)
        loss = model.sampled_loss(states, words[:, 1:].reshape(-1), sample, self.expected)
        for group in self.optimiser.param_groups:
            group["lr"] = config.rate * (1 - self.updates / (self.per_epoch * config.epochs))
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        self.optimiser.step()
        self._recent.append(loss.item())
        self.updates += 1
        self.seconds += time.process_time() - began

    def _save(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        optimiser: dict[str, Tensor] = {
            f"{number}.{name}": value
            for number, values in self.optimiser.state_dict()["state"].items()
            for name, value in values.items()
        }
        assert self.state is not None
        optimiser |= {"hidden": self.state[0], "cell": self.state[1]}
        about = {"losses": self.losses, "config": self.config.to_dict()}
        weights = dict(self.model.state_dict())
        Checkpoint(self.updates, about, self.seconds, weights, optimiser, {}).write(file)

    def _resume(self, file: Path) -> None:
        """Go on where the file stands; one of other settings is passed over."""
        if not file.is_file():
            return
        kept = Checkpoint.read(file)
        if kept.progress["config"] != self.config.to_dict():
            return
        self.model.load_state_dict(kept.weights)
        self.state = (kept.optimiser.pop("hidden"), kept.optimiser.pop("cell"))
        states: dict[int, dict[str, Tensor]] = {}
        for key, value in kept.optimiser.items():
            number, _, name = key.partition(".")
            states.setdefault(int(number), {})[name] = value
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": states})
        self.updates, self.seconds = kept.epoch, kept.seconds
        self.losses = kept.progress["losses"]
