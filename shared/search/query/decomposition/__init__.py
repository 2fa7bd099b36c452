"""A question of several parts, taken apart by rules: no model, no I/O."""
