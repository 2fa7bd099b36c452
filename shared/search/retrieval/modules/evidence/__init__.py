"""What bears a question out beside words and meaning: procedures, tags, kin, files."""
