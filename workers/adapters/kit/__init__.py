"""The conformance kit: what every adapter must do, as tests."""
