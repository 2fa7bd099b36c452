"""Why a page is empty: what was searched, what is unknown, what came near."""
