"""Pure ranking: fusion, factors, folding; no text and no I/O."""
