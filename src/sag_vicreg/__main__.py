"""``python -m sag_vicreg`` is ``sag-vicreg``."""

from sag_vicreg.cli import main

main()
