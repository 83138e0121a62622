"""Generators side by side: the same data, the same attackers, the same analysts."""

from caveat.benchmark.run import Benchmark

__all__ = ["Benchmark"]
