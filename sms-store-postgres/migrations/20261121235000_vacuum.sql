-- Deliveries and what comes back for texts are claimed from the head of an index, like the queue: the
-- entries of what is done have to go soon, or each claim steps over all of them.
ALTER TABLE delivery SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE follow_up SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
