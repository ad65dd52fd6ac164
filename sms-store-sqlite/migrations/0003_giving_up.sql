-- Endpoints that were switched off, and when, some of whose deliveries are still to be given up.

CREATE TABLE giving_up (
    endpoint_id BLOB PRIMARY KEY,
    at          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
