"""Text to vectors: the encoders, the chunks of long texts, the vector tables."""
