"""The addresses of the page: each reads a REST answer and names its template."""
