"""What a stage of enrichment is, and which there are."""
