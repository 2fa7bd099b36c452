"""The domain of Logchord: one folder per idea; nothing here knows who calls it."""
