"""The compiled library: finding it, choosing its instruction set, and calling it.

``ENTNET_KERNEL`` set to ``avx512``, ``avx2`` or ``baseline`` asks for that build of the kernel, and
``reference`` for none at all; without it, the best that the machine can run is taken.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import torch
from torch import Tensor

from entnet.errors import EntNetError

KERNELS = ("avx512", "avx2", "baseline")
_PATH = Path(__file__).with_name("_kernel.so")
_log = logging.getLogger("entnet")


@functools.cache
def library() -> ctypes.CDLL | None:
    """The library, or None where it was not built or is not wanted; says so once."""
    wanted = os.environ.get("ENTNET_KERNEL", "")
    if wanted and wanted not in (*KERNELS, "reference"):
        choices = ", ".join((*KERNELS, "reference"))
        raise EntNetError(f"ENTNET_KERNEL is {wanted!r}, but must be one of {choices}")
    if wanted == "reference":
        return None
    try:
        loaded = ctypes.CDLL(str(_PATH))
    except OSError as error:
        if wanted:
            raise EntNetError(
                f"ENTNET_KERNEL is {wanted}, but there is no kernel: {error}"
            ) from error
        _log.warning(
            "the compiled kernel is not there, so everything runs on plain PyTorch, much slower; "
            "install again with a C++ compiler (g++ or clang++) at hand to build it"
        )
        return None
    try:
        _declare(loaded)
        _compare_structures(loaded)
    except (AttributeError, ValueError) as error:
        raise EntNetError(
            f"{_PATH} was built from other sources than these ({error}); "
            "`python setup.py build_ext --inplace` builds it again, and so does installing"
        ) from error
    if wanted:
        check(loaded.entnet_choose_kernel(wanted.encode()))
    return loaded


def kernel_name() -> str:
    """The kernel in use: "avx512", "avx2", "baseline", or "reference" for plain PyTorch."""
    loaded = library()
    return "reference" if loaded is None else loaded.entnet_kernel_name().decode()


def check(problem: bytes | None) -> None:
    """Raise what the library reports."""
    if problem is not None:
        raise EntNetError(problem.decode())


def address(tensor: Tensor | None) -> int | None:
    """Where a tensor's numbers are; null for none."""
    return None if tensor is None else tensor.data_ptr()


def is_plain(*tensors: Tensor | None) -> bool:
    """Whether the kernel can take these: single precision, in main memory."""
    return all(
        tensor is None or (tensor.dtype == torch.float32 and tensor.device.type == "cpu")
        for tensor in tensors
    )


def gate_fields(shape: tuple[float, float, float, float] | None) -> dict[str, float]:
    """A ``GateShape``, or none, as fields of the C structures."""
    names = ("gate_threshold", "gate_scale", "gate_shift", "gate_learns")
    values = dict(zip(names, shape or (0.0,) * 4, strict=True))
    return {"gate_shuts": int(shape is not None), **values}


_plain: ContextVar[bool] = ContextVar("plain", default=False)


@contextmanager
def plain_pytorch() -> Iterator[None]:
    """Operators called within it, in this thread, run in plain PyTorch."""
    token = _plain.set(True)
    try:
        yield
    finally:
        _plain.reset(token)


def can_run(*tensors: Tensor | None) -> bool:
    """Whether compiled code is there and wanted, and can take these tensors."""
    return not _plain.get() and library() is not None and is_plain(*tensors)


def _structure(name: str, fields: str) -> type[ctypes.Structure]:
    """A C structure from lines of "kind: names"; kinds are integer, real and pointer."""
    kinds = {"integer": ctypes.c_int64, "real": ctypes.c_double, "pointer": ctypes.c_void_p}
    entries = []
    for line in fields.strip().splitlines():
        kind, _, names = line.strip().partition(": ")
        entries += [(field, kinds[kind]) for field in names.split()]
    return type(name, (ctypes.Structure,), {"_fields_": entries})


# These repeat native/api.h and native/running.h, field by field.

ModelStruct = _structure(
    "ModelStruct",
    """
    integer: slots width vocabulary sentence_length over_slots normalise close_on_empty slope_units hops
    integer: matrix_U matrix_V matrix_W
    real: norm_floor
    integer: gate_shuts
    real: gate_threshold gate_scale gate_shift gate_learns
    pointer: fixed_mask key_words allowed entity parameters
    integer: parameter_count embedding keys U V W H R slope read_slope gate_bias candidate_bias
    integer: story_mask question_mask gate_mask ordinals ordinal_count
    """,
)
BatchStruct = _structure(
    "BatchStruct",
    """
    integer: sentences stories questions threads sentence_length question_length
    pointer: words story_offsets question_words question_step answers story_keys keep quiet noise ends
    """,
)
UpdateStruct = _structure(
    "UpdateStruct",
    """
    pointer: gradients first second
    real: rate beta1 beta2 epsilon clip
    integer: mean_loss zero_null_output count
    real: gate_penalty end_penalty
    """,
)
ResultStruct = _structure(
    "ResultStruct",
    """
    real: loss
    integer: errors
    real: gradient_norm pack encode scan read update
    """,
)
ScanStruct = _structure(
    "ScanStruct",
    """
    integer: sentences stories reads slots width threads keys_per_story normalise
    real: norm_floor
    integer: gate_shuts
    real: gate_threshold gate_scale gate_shift gate_learns
    pointer: candidate_input gate_input keys key_input U slope gate_bias offsets read_at closed states
    """,
)
ScanGradientsStruct = _structure(
    "ScanGradientsStruct",
    """
    pointer: states candidate_input gate_input keys key_input U slope gate_bias
    """,
)
SplitStruct = _structure(
    "SplitStruct",
    """
    pointer: text
    integer: size final longest most
    pointer: words starts ends lines
    integer: consumed pieces runs breaks
    """,
)
LstmStruct = _structure(
    "LstmStruct",
    """
    integer: units vocabulary rows sequences steps
    pointer: active words table U hidden cell gates hiddens cells
    """,
)
LstmGradientsStruct = _structure(
    "LstmGradientsStruct",
    """
    pointer: hiddens cells table U hidden cell
    """,
)
GruStruct = _structure(
    "GruStruct",
    """
    integer: units rows sequences steps
    pointer: active inputs attention U hidden gates hiddens
    """,
)
GruGradientsStruct = _structure(
    "GruGradientsStruct",
    """
    pointer: hiddens inputs attention U hidden
    """,
)
MachineStruct = _structure(
    "MachineStruct",
    """
    integer: ntm slots width heads units interface trace_width
    integer: links masking deallocation sharpness usage_gradient read_first normalise
    real: memory_start norm_epsilon
    integer: rows sequences steps
    pointer: active inputs U B asked keep
    pointer: gate_gain gate_shift cell_gain cell_shift interface_gain interface_shift
    pointer: hidden cell reads weights
    pointer: gates cells raw recurrent interface_rows norm_gates norm_cells scales
    pointer: trace memories link_states hiddens found
    """,
)
MachineGradientsStruct = _structure(
    "MachineGradientsStruct",
    """
    pointer: hiddens found gates interface_rows
    pointer: gate_gain gate_shift cell_gain cell_shift interface_gain interface_shift
    pointer: hidden cell reads weights
    """,
)
HopsStruct = _structure(
    "HopsStruct",
    """
    integer: questions ages layers width hops linear relu
    pointer: heard memories state H states attention
    """,
)
HopsGradientsStruct = _structure(
    "HopsGradientsStruct",
    """
    pointer: final memories state H
    """,
)
ReduceStruct = _structure(
    "ReduceStruct",
    """
    integer: questions rows width ways
    pointer: lengths inputs weights passed reduced states
    """,
)
ReduceGradientsStruct = _structure(
    "ReduceGradientsStruct",
    """
    pointer: states inputs weights passed
    """,
)
WindowsNetworkStruct = _structure(
    "WindowsNetworkStruct",
    """
    integer: width window query known oov_rows
    pointer: embedding story_mask gate_mask question_mask gate_bias
    pointer: embedding_squares story_squares gate_squares question_squares bias_squares
    """,
)
WindowsStruct = _structure(
    "WindowsStruct",
    """
    integer: count windows_count
    pointer: offsets windows candidates queries answers
    """,
)
WindowsTrainingStruct = _structure(
    "WindowsTrainingStruct",
    """
    integer: count batch
    pointer: order
    real: rate clip dropout oov_probability
    integer: seed
    pointer: keep
    real: loss
    integer: errors
    """,
)

STRUCTURES = (
    *(ModelStruct, BatchStruct, UpdateStruct, ResultStruct, ScanStruct, ScanGradientsStruct),
    *(SplitStruct, LstmStruct, LstmGradientsStruct, GruStruct, GruGradientsStruct),
    *(MachineStruct, MachineGradientsStruct, HopsStruct, HopsGradientsStruct),
    *(ReduceStruct, ReduceGradientsStruct),
    *(WindowsNetworkStruct, WindowsStruct, WindowsTrainingStruct),
)
"""All of them, in the order of ``entnet_struct_sizes``."""


def _compare_structures(loaded: ctypes.CDLL) -> None:
    """Refuse a library whose structures are of other sizes: it would read past their ends."""
    loaded.entnet_struct_sizes.restype = ctypes.POINTER(ctypes.c_int64)
    sizes = loaded.entnet_struct_sizes()
    for place, structure in enumerate(STRUCTURES):
        if sizes[place] != ctypes.sizeof(structure):
            raise ValueError(f"{structure.__name__} has another size there")
    if sizes[len(STRUCTURES)] != 0:
        raise ValueError("it has structures that are not known here")


def _declare(loaded: ctypes.CDLL) -> None:
    pointer, text, integer = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64
    signatures: dict[str, tuple[object, int]] = {
        "entnet_kernel_name": (text, 0),
        "entnet_scan_forward": (text, 1),
        "entnet_scan_backward": (text, 2),
        "entnet_lstm_forward": (text, 1),
        "entnet_lstm_backward": (text, 2),
        "entnet_gru_forward": (text, 1),
        "entnet_gru_backward": (text, 2),
        "entnet_machine_forward": (text, 1),
        "entnet_machine_backward": (text, 2),
        "entnet_hops_forward": (text, 1),
        "entnet_hops_backward": (text, 2),
        "entnet_reduce_forward": (text, 1),
        "entnet_reduce_backward": (text, 2),
        "entnet_engine_new": (pointer, 1),
        "entnet_engine_free": (None, 1),
        "entnet_train": (text, 4),
        "entnet_evaluate": (text, 4),
        "entnet_stream_pack": (None, 1),
        "entnet_words_free": (None, 1),
        "entnet_split": (text, 2),
        "entnet_windows_train": (text, 3),
        "entnet_windows_score": (text, 3),
    }
    for name, (returns, arguments) in signatures.items():
        function = getattr(loaded, name)
        function.restype = returns
        function.argtypes = [pointer] * arguments
    for name, outputs in (("entnet_stream_step", 5), ("entnet_stream_read", 3)):
        function = getattr(loaded, name)
        function.restype = text
        function.argtypes = [pointer, pointer, integer, integer, *[pointer] * outputs]
    loaded.entnet_stream_scan.restype = text
    loaded.entnet_stream_scan.argtypes = [pointer, pointer, integer, integer, *[pointer] * 4]
    loaded.entnet_words_new.restype = pointer
    loaded.entnet_words_new.argtypes = [text, integer, integer]
    loaded.entnet_poison.restype = None
    loaded.entnet_poison.argtypes = [integer]
    loaded.entnet_choose_kernel.restype = text
    loaded.entnet_choose_kernel.argtypes = [text]
