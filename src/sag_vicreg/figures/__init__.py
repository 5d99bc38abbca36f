"""Arrays in, matplotlib figures out. Nothing is computed here that a reader could call a result."""
