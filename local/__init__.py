"""The real servers from packages on this machine, and the stack that runs them."""
