"""Commands of `logchord`: `COMMANDS` in `api/cli/main.py` says which file has one.

Larger ones have folders beside: `search/`, `source/`, `stack/`, `doctor/`.
"""
