"""Models behind somebody's endpoint: asked over HTTP, bounded, and not trusted."""
