"""Pure ranking: fusion, linear rerank, calibration, factors, folds; no text or I/O."""
