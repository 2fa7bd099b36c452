"""`logchord backup`, `restore` and `upgrade`: all of an installation in one file."""
