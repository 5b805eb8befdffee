"""The memory scan: one place that chooses how it is computed."""

from entnet.ops.reference import ScanParameters, memory_scan, memory_step

__all__ = ["ScanParameters", "memory_scan", "memory_step"]
