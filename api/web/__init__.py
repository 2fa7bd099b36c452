"""The page that people open: answers of REST, shown as HTML."""
