"""One file per command of `logchord`."""
