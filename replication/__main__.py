"""``python -m replication``."""

from replication.commands import main

# Workers of the grid import this module again.
if __name__ == "__main__":
    main()
