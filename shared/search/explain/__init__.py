"""Why an entry was not found, what a search would do, whether it repeats.

Why a page is empty: `shared/search/absence/`.
"""
