"""Routes of searches, their jobs, and the glossary."""
