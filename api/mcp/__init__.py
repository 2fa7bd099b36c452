"""The Model Context Protocol: what agents may ask, each tool a request of REST."""
