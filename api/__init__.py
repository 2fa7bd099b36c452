"""Every way in: REST, the page, MCP, the command line, the Python client."""
