-- The words and names that a facility's entries have: what a prefix, a wildcard or a
-- misspelt word of a question stands for. `language` is `*` for all without a stemmer.
-- `n` is in how many entries each was at the last count; `walk` is the latest count
-- during which it was met, and `counted` how often so far.
CREATE TABLE lexeme (
    tenant text NOT NULL,
    language text NOT NULL,
    surface text COLLATE "C" NOT NULL,
    stem text COLLATE "C" NOT NULL,
    n integer NOT NULL DEFAULT 0,
    counted integer NOT NULL DEFAULT 0,
    walk bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, language, surface)
) WITH (fillfactor = 70);
-- Serves: whether a word of a question is known by another of its forms; a purge.
CREATE INDEX lexeme_stem ON lexeme (tenant, language, stem);
-- Serves: wildcards without a beginning, and words nearly spelt so.
CREATE INDEX lexeme_trigrams ON lexeme USING gin (surface gin_trgm_ops);

CREATE TABLE ident (
    tenant text NOT NULL,
    ident text COLLATE "C" NOT NULL,
    n integer NOT NULL DEFAULT 0,
    counted integer NOT NULL DEFAULT 0,
    walk bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, ident)
) WITH (fillfactor = 70);
-- Serves: wildcards without a beginning.
CREATE INDEX ident_trigrams ON ident USING gin (ident gin_trgm_ops);

-- One row. Who remembers which words are there forgets it when this number grows.
CREATE TABLE vocabulary (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    walk bigint NOT NULL DEFAULT 1
);
INSERT INTO vocabulary DEFAULT VALUES;

-- Where entries are already, their words are gone through at once, not in a day.
INSERT INTO source_schedule (source, kind, every_seconds, next_run_at)
SELECT '*', 'count_words', 86400, now()
 WHERE EXISTS (SELECT FROM entry_text)
    ON CONFLICT (source, kind) DO NOTHING;
