-- no transaction
-- Serves: which shapes may be alike, by a band and by a name or number that both have.
-- 0 stands in all, for a text without any; 1 in those that are found without one: they
-- have none, or so many that each is found in every text. Read with every entry, so
-- nothing waits in a list.
DROP INDEX CONCURRENTLY IF EXISTS shape_sought;  -- a failed build leaves an INVALID one
CREATE INDEX CONCURRENTLY shape_sought
    ON shape USING gin (bands, (
       CASE WHEN cardinality(marks) BETWEEN 1 AND 64
            THEN marks || 0 ELSE '{0,1}'::integer[] END))
  WITH (fastupdate = off);
-- Whoever asks by bands alone is served by the first column.
DROP INDEX CONCURRENTLY IF EXISTS shape_bands;
