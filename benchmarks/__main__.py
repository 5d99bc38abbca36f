"""``python -m benchmarks``."""

from benchmarks.commands import app

# Processes started to measure memory import this module again.
if __name__ == "__main__":
    app()
