"""Every way in: HTTP and the command line."""
