-- no transaction
-- Serves: which entry states the newest value of a device's parameter.
DROP INDEX CONCURRENTLY IF EXISTS entry_quantity_said;  -- a failed build leaves an INVALID one
CREATE INDEX CONCURRENTLY entry_quantity_said
    ON entry_quantity (tenant, device, parameter, dimension, said_at, entry_id, place)
 WHERE device IS NOT NULL;
