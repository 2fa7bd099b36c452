"""PSI ELOG, by its files and by its server."""
