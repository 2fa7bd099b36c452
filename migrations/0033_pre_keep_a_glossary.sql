-- What may be said for a term, and whether the facility's people have said so: only what
-- is approved is searched. The keys are what two spellings have in common.
CREATE TABLE glossary_form (
    tenant text NOT NULL,
    term_key text COLLATE "C" NOT NULL,
    form_key text COLLATE "C" NOT NULL,
    term text NOT NULL,
    form text NOT NULL,
    state text COLLATE "C" NOT NULL DEFAULT 'proposed'
        CHECK (state IN ('proposed', 'approved', 'rejected')),
    -- Else it was found in entries, and whoever may see none of these is not told of it.
    by_hand boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    decided_at timestamptz,
    PRIMARY KEY (tenant, term_key, form_key)
);
-- Serves: what the questions of a facility are searched as, asked every two seconds.
CREATE INDEX glossary_form_approved ON glossary_form (tenant, term_key, form_key)
 WHERE state = 'approved';

-- Which entries say so, and where in the text of that revision.
CREATE TABLE glossary_evidence (
    tenant text NOT NULL,
    term_key text COLLATE "C" NOT NULL,
    form_key text COLLATE "C" NOT NULL,
    entry_id uuid NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    revision integer NOT NULL,
    place integer NOT NULL,
    PRIMARY KEY (tenant, term_key, form_key, entry_id),
    FOREIGN KEY (tenant, term_key, form_key) REFERENCES glossary_form ON DELETE CASCADE
);
-- Serves: an entry that is read anew, or purged.
CREATE INDEX glossary_evidence_entry ON glossary_evidence (entry_id);

-- Up to which change the entries of a facility have been read for terms.
CREATE TABLE glossary_read (
    tenant text PRIMARY KEY,
    epoch bigint NOT NULL,
    xid xid8 NOT NULL,
    entry_id uuid NOT NULL
);
