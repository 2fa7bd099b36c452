"""When hits were written or happened: taken out of the words of a question."""
