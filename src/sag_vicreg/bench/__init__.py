"""Benchmarks against peers. Each returns a :class:`~sag_vicreg.bench.report.Report`."""
