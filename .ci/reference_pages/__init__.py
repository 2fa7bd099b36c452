"""The pages of docs/reference/, one file each."""
