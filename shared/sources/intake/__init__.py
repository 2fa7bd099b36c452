"""A page of a source becomes entries: normalised, compared, stored."""
