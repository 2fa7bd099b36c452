"""The analyser: one stream of terms from a text, the same for both engines."""
