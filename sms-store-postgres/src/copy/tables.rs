//! How the tables of the copy's catalogue are kept here. A column has the catalogue's name unless
//! it is listed, and `account` is `account_id`. In expressions `t` is a row of the table, and `r`
//! a row of the catalogue that is inserted.

/// A column of the catalogue that is kept in another form.
pub(super) struct Made {
    pub(super) column: &'static str,
    /// What it is read from.
    pub(super) out: &'static str,
    /// The columns that it is written to.
    pub(super) into: &'static [(&'static str, &'static str)],
}

/// A table.
pub(super) struct Kept {
    /// Its name in the catalogue.
    pub(super) name: &'static str,
    pub(super) table: &'static str,
    /// The columns of its key with their types.
    pub(super) key: &'static [(&'static str, &'static str)],
    pub(super) renamed: &'static [(&'static str, &'static str)],
    pub(super) made: &'static [Made],
    /// Columns that the catalogue does not have, and what is inserted into them.
    pub(super) added: &'static [(&'static str, &'static str)],
    /// Columns that the catalogue does not have, and whose default is right or which are written
    /// once all tables are complete.
    pub(super) own: &'static [&'static str],
    /// Which rows are copied.
    pub(super) only: &'static str,
}

type Key = &'static [(&'static str, &'static str)];

const fn kept(name: &'static str, key: Key) -> Kept {
    Kept { name, table: name, key, renamed: &[], made: &[], added: &[], own: &[], only: "true" }
}

const BY_ID: Key = &[("id", "uuid")];
const BY_ACCOUNT: Key = &[("account_id", "uuid"), ("id", "uuid")];

pub(super) const TABLES: [Kept; 31] = [
    Kept {
        renamed: &[("track_links", "track_links_default")],
        own: &["has_conversations", "version"],
        ..kept("account", BY_ID)
    },
    kept("api_key", &[("hash", "bytea")]),
    kept("ledger_entry", &[("account_id", "uuid"), ("seq", "bigint")]),
    Kept {
        // Rows of commands have defaults in the columns of sends.
        made: &[
            Made {
                column: "batch_id",
                out: "CASE WHEN t.answer IS NULL THEN t.batch_id END",
                into: &[(
                    "batch_id",
                    "COALESCE(r.batch_id, '00000000-0000-0000-0000-000000000000')",
                )],
            },
            Made {
                column: "rejected",
                out: "CASE WHEN t.answer IS NULL THEN t.rejected END",
                into: &[("rejected", "COALESCE(r.rejected, '[]')::jsonb")],
            },
            Made { column: "gaps", out: "t.gaps", into: &[("gaps", "r.gaps::jsonb")] },
            Made {
                column: "credits",
                out: "CASE WHEN t.answer IS NULL THEN t.credits END",
                into: &[("credits", "COALESCE(r.credits, 0)")],
            },
            Made {
                column: "balance",
                out: "CASE WHEN t.answer IS NULL THEN t.balance END",
                into: &[("balance", "COALESCE(r.balance, 0)")],
            },
        ],
        ..kept("idempotency_key", &[("account_id", "uuid"), ("key", "text")])
    },
    Kept {
        renamed: &[("error", "error_code")],
        made: &[Made {
            column: "timeline",
            out: "t.timeline",
            into: &[("timeline", "r.timeline::jsonb"), ("sending_at", "r.sending_at")],
        }],
        own: &["resting"],
        ..kept("message", BY_ID)
    },
    Kept {
        renamed: &[("id", "message_id")],
        added: &[(
            "status",
            "(SELECT m.status FROM message m WHERE m.account_id = r.account AND m.id = r.id)",
        )],
        ..kept("queue", &[("message_id", "uuid")])
    },
    Kept {
        made: &[
            Made {
                column: "receipt",
                out: "CASE t.what WHEN 'delivered' THEN t.what
                          WHEN 'undelivered' THEN t.detail END",
                into: &[(
                    "what",
                    "CASE WHEN r.reply IS NOT NULL THEN 'reply'
                          WHEN r.receipt = 'delivered' THEN 'delivered' ELSE 'undelivered' END",
                )],
            },
            Made {
                column: "reply",
                out: "CASE t.what WHEN 'reply' THEN t.detail END",
                into: &[("detail", "COALESCE(r.reply, NULLIF(r.receipt, 'delivered'))")],
            },
        ],
        ..kept("follow_up", BY_ID)
    },
    Kept {
        // Only the commit that takes an early report over reads when it came.
        own: &["early_at"],
        ..kept("sent_segment", &[("route", "text"), ("network_id", "text")])
    },
    kept("last_contacted", &[("number", "bigint"), ("person", "bigint")]),
    kept("statistic", &[("account_id", "uuid"), ("span", "text"), ("at", "timestamptz")]),
    Kept {
        renamed: &[("at", "made_at"), ("count", "messages")],
        added: &[("batch_id", "gen_random_uuid()")],
        ..kept("test_send", &[("account_id", "uuid"), ("batch_id", "uuid")])
    },
    Kept {
        renamed: &[("number", "phone"), ("last_id", "last_message_id")],
        made: &[Made {
            column: "replied",
            out: "(SELECT COALESCE(json_agg((extract(epoch FROM u.at) * 1000)::bigint
                       ORDER BY u.place), '[]')
                   FROM unnest(t.replied_at) WITH ORDINALITY AS u(at, place))",
            into: &[(
                "replied_at",
                "ARRAY(SELECT timestamptz 'epoch' + u.at::bigint * interval '1 millisecond'
                       FROM json_array_elements_text(r.replied::json) WITH ORDINALITY
                           AS u(at, place) ORDER BY u.place)",
            )],
        }],
        ..kept("conversation", &[("account_id", "uuid"), ("phone", "bigint")])
    },
    Kept {
        made: &[Made {
            column: "custom",
            out: "t.custom",
            into: &[("custom", "r.custom::json"), ("searched", "r.searched")],
        }],
        ..kept("contact", BY_ACCOUNT)
    },
    Kept { only: "t.uses > 0", ..kept("custom_name", &[("account_id", "uuid"), ("name", "text")]) },
    kept("contact_list", BY_ACCOUNT),
    Kept {
        table: "contact_list_member",
        ..kept(
            "list_member",
            &[("account_id", "uuid"), ("list_id", "uuid"), ("contact_id", "uuid")],
        )
    },
    kept("opt_out", &[("account_id", "uuid"), ("phone", "bigint")]),
    kept("template", BY_ACCOUNT),
    Kept {
        renamed: &[("list_id", "add_to_list_id"), ("listening", "enabled")],
        ..kept("keyword", BY_ACCOUNT)
    },
    Kept {
        renamed: &[("keyword", "keyword_id")],
        ..kept("reply_count", &[("account_id", "uuid"), ("keyword_id", "uuid")])
    },
    kept("sender_name", BY_ACCOUNT),
    kept("number", BY_ID),
    Kept {
        table: "released_number",
        renamed: &[("at", "released_at")],
        ..kept("number_release", &[("phone", "bigint")])
    },
    Kept {
        made: &[Made {
            column: "parts",
            out: "(SELECT COALESCE(json_agg(json_build_array(u.number, u.alphabet,
                       encode(u.octets, 'hex')) ORDER BY u.place), '[]')
                   FROM unnest(t.numbers, t.alphabets, t.octets)
                       WITH ORDINALITY AS u(number, alphabet, octets, place))",
            into: &[
                (
                    "numbers",
                    "ARRAY(SELECT (u.part->>0)::smallint FROM json_array_elements(r.parts::json)
                               WITH ORDINALITY AS u(part, place) ORDER BY u.place)",
                ),
                (
                    "alphabets",
                    "ARRAY(SELECT u.part->>1 FROM json_array_elements(r.parts::json)
                               WITH ORDINALITY AS u(part, place) ORDER BY u.place)",
                ),
                (
                    "octets",
                    "ARRAY(SELECT decode(u.part->>2, 'hex') FROM json_array_elements(r.parts::json)
                               WITH ORDINALITY AS u(part, place) ORDER BY u.place)",
                ),
            ],
        }],
        ..kept(
            "inbound_segment",
            &[
                ("to_number", "bigint"),
                ("from_number", "bigint"),
                ("reference", "integer"),
                ("total", "smallint"),
                ("nth", "integer"),
            ],
        )
    },
    kept("unrouted", BY_ID),
    kept("link", BY_ACCOUNT),
    Kept {
        made: &[
            Made {
                column: "counts",
                // In the order of `Counts::STATUSES`.
                out: "json_build_array(t.scheduled, t.queued, t.sending, t.sent, t.delivered,
                          t.undelivered, t.failed, t.cancelled)",
                into: &[
                    ("scheduled", "(r.counts::json->>0)::bigint"),
                    ("queued", "(r.counts::json->>1)::bigint"),
                    ("sending", "(r.counts::json->>2)::bigint"),
                    ("sent", "(r.counts::json->>3)::bigint"),
                    ("delivered", "(r.counts::json->>4)::bigint"),
                    ("undelivered", "(r.counts::json->>5)::bigint"),
                    ("failed", "(r.counts::json->>6)::bigint"),
                    ("cancelled", "(r.counts::json->>7)::bigint"),
                ],
            },
            Made {
                column: "is_unswept",
                out: "t.cancelled_at IS NOT NULL AND NOT t.swept",
                into: &[("swept", "r.cancelled_at IS NOT NULL AND NOT r.is_unswept")],
            },
        ],
        ..kept("campaign", BY_ACCOUNT)
    },
    Kept {
        renamed: &[("off", "disabled_reason")],
        made: &[Made {
            column: "events",
            out: "array_to_string(t.events, ' ')",
            into: &[("events", "string_to_array(r.events, ' ')")],
        }],
        own: &["run"],
        ..kept("endpoint", BY_ACCOUNT)
    },
    Kept { own: &["run"], ..kept("delivery", BY_ID) },
    kept("event", &[("account_id", "uuid"), ("seq", "bigint"), ("place", "integer")]),
    kept("message_span", &[("account_id", "uuid"), ("last_id", "uuid")]),
];

/// Tables that are not copied, each with the reason.
pub(super) const NOT_COPIED: [(&str, &str); 12] = [
    ("_sqlx_migrations", "it says which migrations this database has run"),
    ("address_book", "its rows are locks, made when they are first needed"),
    ("campaign_delta", "empty once the copy has added it to the campaigns"),
    ("copy_journal", "it says how far a copy into this database has come"),
    ("endpoint_removed", "it says whose deliveries are removed, and the copy has removed them"),
    ("event_base", "it counts from the transactions of this server, above the copied events"),
    ("inbox", "sums of the conversations, added up when these are complete"),
    ("message_span_round", "a place in a round through accounts, which may begin again"),
    ("rate_limit", "how many requests keys made in the last seconds"),
    ("schema_compatibility", "it says which programs may serve this database"),
    ("session", "who is signed in to the console of this server; people sign in again"),
    ("statistic_change", "empty once the copy has added it to the statistics"),
];
