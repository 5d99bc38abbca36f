"""The forest similarity tried on planted damage: `docs/metric-proof.md` declares what and why."""

from benchmarks.damage.record import Record, measure, read_record

__all__ = ["Record", "measure", "read_record"]
