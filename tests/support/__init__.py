"""What tests of several layers share: builders, waits, measures."""
