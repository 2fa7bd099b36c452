"""The language of questions: scanned, parsed to a tree, written again."""
