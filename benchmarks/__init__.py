"""Benchmarks against peers: the code, and under ``results`` what it measured.

Each module returns a :class:`~benchmarks.report.Report`. They need the extras ``train`` and ``dev``
and are no part of the wheel.
"""
