"""Text as a terminal shows it."""
