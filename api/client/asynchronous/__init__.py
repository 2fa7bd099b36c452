"""The client for programs with an event loop; the other one is made from it."""
