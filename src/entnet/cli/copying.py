"""``entnet inspect`` of a network that copies: where its heads write and read."""

from __future__ import annotations

from pathlib import Path

import torch

from entnet.cli.common import console, print_json
from entnet.inspection.addressing import draw_addressing
from entnet.models.copying import Copier, addressing_of, copy_batch, copy_error

STEPS = {False: 12, True: 6}
"""Length of the sequence that is shown: for plain copying, and for repeat-copy."""


def inspect_copier(directory: Path, plot: Path | None, as_json: bool) -> None:
    """Its errors on one sequence, and a picture of the addressing."""
    model = Copier.from_pretrained(directory)
    config = model.config
    repeats = config.most_repeats
    length = STEPS[repeats > 1]
    wrong, asked = copy_error(model, length, repeats)
    batch = copy_batch(config, 1, length, repeats, torch.Generator().manual_seed(1))
    with torch.no_grad():
        said = model(batch)[:, 0].sigmoid() * (batch.due[:, 0] >= 0)
    weights = addressing_of(model, batch.inputs)
    if as_json:
        print_json(
            {
                "length": length,
                "repeats": repeats,
                "wrong_bits_percent": round(100 * wrong / asked, 4),
                "addressing": weights.tolist(),
            }
        )
    else:
        times = "" if repeats == 1 else f", said {repeats} times"
        console.print(
            f"{config.memory.upper()}, {config.slots} slots of {config.width}: "
            f"{100 * wrong / asked:.2f}% wrong bits on sequences of {length} steps{times}"
        )
    if plot is not None:
        shown = batch.inputs[:, 0, : config.bits]
        draw_addressing(weights, plot, f"{config.memory.upper()} copying", shown, said)
        if not as_json:
            console.print(f"wrote {plot}", markup=False, soft_wrap=True)
