"""What a question, its page and its asker make of an order: factors of single hits."""
