"""`logchord up` and `down`: the whole system on this machine."""
