"""From one embedding model to another, while searches go on."""
