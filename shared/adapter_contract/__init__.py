"""What an adapter is: the interface between Logchord and one logbook software."""
