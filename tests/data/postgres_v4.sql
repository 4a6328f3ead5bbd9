-- A store of version 4, as pg_dump wrote it down.
CREATE SCHEMA weft;
CREATE TABLE weft.blob_refs (
    sha256 bytea NOT NULL,
    session bytea NOT NULL
);
CREATE TABLE weft.blobs (
    sha256 bytea NOT NULL,
    bytes bigint NOT NULL,
    at_ms bigint NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE weft.commits (
    node bytea NOT NULL,
    name text NOT NULL,
    no bigint NOT NULL,
    at_ms bigint NOT NULL,
    void bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE weft.events (
    session bytea NOT NULL,
    seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    id bytea NOT NULL,
    ts_ms bigint NOT NULL,
    at_ms bigint NOT NULL,
    marker bigint NOT NULL,
    said bigint NOT NULL,
    type bigint NOT NULL,
    state bigint NOT NULL,
    more bigint NOT NULL,
    background bigint NOT NULL,
    op bytea NOT NULL,
    body_at bigint NOT NULL,
    body_len bigint NOT NULL,
    bytes bytea NOT NULL
)
PARTITION BY HASH (session);
CREATE TABLE weft.events_0 (
    session bytea NOT NULL,
    seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    id bytea NOT NULL,
    ts_ms bigint NOT NULL,
    at_ms bigint NOT NULL,
    marker bigint NOT NULL,
    said bigint NOT NULL,
    type bigint NOT NULL,
    state bigint NOT NULL,
    more bigint NOT NULL,
    background bigint NOT NULL,
    op bytea NOT NULL,
    body_at bigint NOT NULL,
    body_len bigint NOT NULL,
    bytes bytea NOT NULL
);
CREATE TABLE weft.events_1 (
    session bytea NOT NULL,
    seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    id bytea NOT NULL,
    ts_ms bigint NOT NULL,
    at_ms bigint NOT NULL,
    marker bigint NOT NULL,
    said bigint NOT NULL,
    type bigint NOT NULL,
    state bigint NOT NULL,
    more bigint NOT NULL,
    background bigint NOT NULL,
    op bytea NOT NULL,
    body_at bigint NOT NULL,
    body_len bigint NOT NULL,
    bytes bytea NOT NULL
);
CREATE TABLE weft.hidden (
    session bytea NOT NULL,
    target bigint NOT NULL,
    hidden bigint NOT NULL,
    by_seq bigint NOT NULL
)
PARTITION BY HASH (session);
CREATE TABLE weft.hidden_0 (
    session bytea NOT NULL,
    target bigint NOT NULL,
    hidden bigint NOT NULL,
    by_seq bigint NOT NULL
);
CREATE TABLE weft.hidden_1 (
    session bytea NOT NULL,
    target bigint NOT NULL,
    hidden bigint NOT NULL,
    by_seq bigint NOT NULL
);
CREATE TABLE weft.meta (
    one bigint NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT meta_one_check CHECK ((one = 1))
);
CREATE TABLE weft.names (
    name bytea NOT NULL,
    session bytea NOT NULL,
    ver bigint NOT NULL,
    kind bigint NOT NULL
);
CREATE TABLE weft.search_epoch (
    one bigint NOT NULL,
    epoch bigint NOT NULL,
    CONSTRAINT search_epoch_one_check CHECK ((one = 1))
);
CREATE TABLE weft.sessions (
    id bytea NOT NULL,
    kind bigint NOT NULL,
    parent bytea,
    forked_from bytea,
    root bytea,
    previous bytea,
    fork_seq bigint NOT NULL,
    key bytea NOT NULL,
    aliased bigint NOT NULL,
    op bytea NOT NULL,
    parent_tool_use_id bytea NOT NULL,
    agent bytea NOT NULL,
    slug bytea NOT NULL,
    project_dir bytea NOT NULL,
    model_provider bytea NOT NULL,
    model_name bytea NOT NULL,
    "user" bytea NOT NULL,
    channel bytea NOT NULL,
    user_role bytea NOT NULL,
    scope bytea NOT NULL,
    tools bytea NOT NULL,
    metadata bytea NOT NULL,
    head_seq bigint NOT NULL,
    content_seq bigint NOT NULL,
    window_seq bigint NOT NULL,
    window_first bigint NOT NULL,
    summary bytea NOT NULL,
    summary_bytes bigint NOT NULL,
    message_count bigint NOT NULL,
    inherited_count bigint NOT NULL,
    turn_count bigint NOT NULL,
    said_count bigint NOT NULL,
    own_input_tokens bigint NOT NULL,
    own_output_tokens bigint NOT NULL,
    own_cache_read_tokens bigint NOT NULL,
    own_cache_write_tokens bigint NOT NULL,
    own_cost_nano bigint NOT NULL,
    own_unpriced bigint NOT NULL,
    total_input_tokens bigint NOT NULL,
    total_output_tokens bigint NOT NULL,
    total_cache_read_tokens bigint NOT NULL,
    total_cache_write_tokens bigint NOT NULL,
    total_cost_nano bigint NOT NULL,
    total_unpriced bigint NOT NULL,
    first_user bytea NOT NULL,
    last_user bytea NOT NULL,
    last_agent bytea NOT NULL,
    hidden_first_user bytea NOT NULL,
    hidden_last_user bytea NOT NULL,
    hidden_last_agent bytea NOT NULL,
    first_user_seq bigint NOT NULL,
    last_user_seq bigint NOT NULL,
    last_agent_seq bigint NOT NULL,
    todos_seq bigint NOT NULL,
    memory_seq bigint NOT NULL,
    pinned bigint NOT NULL,
    lease_owner bytea NOT NULL,
    lease_token bigint NOT NULL,
    lease_expires_at bigint NOT NULL,
    bytes bigint NOT NULL,
    turn_began_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    last_interaction_at bigint NOT NULL,
    deleted_at bigint NOT NULL,
    purged_at bigint NOT NULL,
    tag bigint NOT NULL,
    fold bytea NOT NULL,
    indexed_seq bigint DEFAULT 0 NOT NULL,
    recent bigint GENERATED ALWAYS AS ((last_interaction_at >> 8)) STORED,
    unindexed boolean GENERATED ALWAYS AS ((head_seq > indexed_seq)) STORED,
    stamp bigint DEFAULT txid_current() NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE weft.words (
    session bytea NOT NULL,
    seq bigint NOT NULL,
    at_ms bigint NOT NULL,
    words tsvector NOT NULL
);
ALTER TABLE ONLY weft.events ATTACH PARTITION weft.events_0 FOR VALUES WITH (modulus 2, remainder 0);
ALTER TABLE ONLY weft.events ATTACH PARTITION weft.events_1 FOR VALUES WITH (modulus 2, remainder 1);
ALTER TABLE ONLY weft.hidden ATTACH PARTITION weft.hidden_0 FOR VALUES WITH (modulus 2, remainder 0);
ALTER TABLE ONLY weft.hidden ATTACH PARTITION weft.hidden_1 FOR VALUES WITH (modulus 2, remainder 1);
INSERT INTO weft.commits VALUES ('\x', 'left', 22, 1794975352609, 0);
INSERT INTO weft.events_0 VALUES ('\x01a1ecde44de6152e9090d4ff2bd4207', 5, 5, '\x01a1ecde44de4ff2bd42070000000005', 1794975352030, 0, 0, 0, 1, 0, 0, 0, '\x', 98, 216, '\x7b22736571223a352c227473223a22323032362d31312d31385430343a31353a35322e3033305a222c2274797065223a2273657373696f6e222c226964223a2230314d37504457483659395a5342544747373030303030303035222c2277223a302c226b696e64223a227072696d617279222c22706172656e74223a2230314d37504457475244334748434d484d424d564e4832595145222c22666f726b65645f66726f6d223a2230314d37504457475244334748434d484d424d564e4832595145222c22666f726b5f736571223a342c22726f6f74223a2230314d37504457475244334748434d484d424d564e4832595145222c226167656e74223a226d61696e222c22736c7567223a227365636f6e64222c2270726f6a6563745f646972223a222f70222c22696e686572697465645f636f756e74223a332c22637263223a223530383033613365227d');
INSERT INTO weft.events_0 VALUES ('\x01a1ecde450c5ebe85d45590f72048a7', 1, 1, '\x01a1ecde450c90f72048a70000000001', 1794975352076, 0, 0, 0, 1, 0, 0, 0, '\x', 98, 71, '\x7b22736571223a312c227473223a22323032362d31312d31385430343a31353a35322e3037365a222c2274797065223a2273657373696f6e222c226964223a2230314d375044574838434a33564a304a35373030303030303031222c2277223a302c226b696e64223a227072696d617279222c226b6579223a22676f6e65222c226b65795f766572223a312c226167656e74223a226d61696e222c22736c7567223a227468697264222c22637263223a226139653537386330227d');
INSERT INTO weft.events_0 VALUES ('\x01a1ecde450c5ebe85d45590f72048a7', 2, 2, '\x01a1ecde456e90f72048a70000000002', 1794975352174, 0, 0, 1, 2, 0, 0, 0, '\x', 104, 61, '\x7b22736571223a322c227473223a22323032362d31312d31385430343a31353a35322e3137345a222c2274797065223a226d657373616765222c226964223a2230314d375044574842454a33564a304a35373030303030303032222c2277223a302c226e223a312c22726f6c65223a2275736572222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a22696e20746865207472617368227d5d2c22637263223a226436393765616337227d');
INSERT INTO weft.events_0 VALUES ('\x01a1ecde450c5ebe85d45590f72048a7', 3, 3, '\x01a1ecde45be90f72048a70000000003', 1794975352254, 0, 0, 0, 12, 0, 0, 0, '\x', 97, 46, '\x7b22736571223a332c227473223a22323032362d31312d31385430343a31353a35322e3235345a222c2274797065223a2264656c657465222c226964223a2230314d375044574844594a33564a304a35373030303030303033222c2277223a302c226e616d6573223a5b7b226e616d65223a22676f6e65222c226b696e64223a226b6579222c22766572223a327d5d2c22637263223a223432623238313964227d');
INSERT INTO weft.events_0 VALUES ('\x01a1ecde44de6152e9090d4ff2bd4207', 6, 6, '\x01a1ecde47024ff2bd42070000000006', 1794975352578, 0, 0, 0, 4, 0, 0, 0, '\x', 97, 62, '\x7b22736571223a362c227473223a22323032362d31312d31385430343a31353a35322e3537385a222c2274797065223a22726564616374222c226964223a2230314d37504457485232395a5342544747373030303030303036222c2277223a302c22746172676574223a342c2268696464656e223a747275652c22726f6c65223a2275736572222c226f776e223a66616c73652c227475726e223a747275652c22637263223a226564303038323466227d');
INSERT INTO weft.events_1 VALUES ('\x01a1ecde430d1c22ca468ba6eb117aee', 1, 1, '\x01a1ecde430da6eb117aee0000000001', 1794975351565, 0, 0, 0, 1, 0, 0, 0, '\x6d616465', 110, 87, '\x7b22736571223a312c227473223a22323032362d31312d31385430343a31353a35312e3536355a222c2274797065223a2273657373696f6e222c226964223a2230314d375044574752444d564e48325951453030303030303031222c2277223a302c226f70223a226d616465222c226b696e64223a227072696d617279222c226b6579223a226b222c226b65795f766572223a312c226167656e74223a226d61696e222c22736c7567223a226669727374222c2270726f6a6563745f646972223a222f70222c22637263223a226466323334373133227d');
INSERT INTO weft.events_1 VALUES ('\x01a1ecde430d1c22ca468ba6eb117aee', 2, 2, '\x01a1ecde4378a6eb117aee0000000002', 1794975351672, 0, 0, 1, 2, 0, 0, 0, '\x6f702d31', 116, 52, '\x7b22736571223a322c227473223a22323032362d31312d31385430343a31353a35312e3637325a222c2274797065223a226d657373616765222c226964223a2230314d375044574756524d564e48325951453030303030303032222c2277223a302c226e223a312c226f70223a226f702d31222c22726f6c65223a2275736572222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a226f6e65227d5d2c22637263223a226235326563303663227d');
INSERT INTO weft.events_1 VALUES ('\x01a1ecde430d1c22ca468ba6eb117aee', 3, 3, '\x01a1ecde43d4a6eb117aee0000000003', 1794975351764, 0, 0, 2, 2, 0, 0, 0, '\x', 104, 102, '\x7b22736571223a332c227473223a22323032362d31312d31385430343a31353a35312e3736345a222c2274797065223a226d657373616765222c226964223a2230314d3750445747594d4d564e48325951453030303030303033222c2277223a302c226e223a322c22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a2274776f227d5d2c227573616765223a7b22696e7075745f746f6b656e73223a372c226f75747075745f746f6b656e73223a337d2c22637263223a226539376235663064227d');
INSERT INTO weft.events_1 VALUES ('\x01a1ecde430d1c22ca468ba6eb117aee', 4, 4, '\x01a1ecde4438a6eb117aee0000000004', 1794975351864, 0, 0, 3, 2, 0, 0, 0, '\x', 104, 54, '\x7b22736571223a342c227473223a22323032362d31312d31385430343a31353a35312e3836345a222c2274797065223a226d657373616765222c226964223a2230314d375044574831524d564e48325951453030303030303034222c2277223a302c226e223a332c22726f6c65223a2275736572222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a227468726565227d5d2c22637263223a223032363939336136227d');
INSERT INTO weft.events_1 VALUES ('\x01a1ecde430d1c22ca468ba6eb117aee', 5, 5, '\x01a1ecde4493a6eb117aee0000000005', 1794975351955, 0, 0, 0, 6, 0, 0, 0, '\x', 95, 37, '\x7b22736571223a352c227473223a22323032362d31312d31385430343a31353a35312e3935355a222c2274797065223a226e616d65222c226964223a2230314d3750445748344b4d564e48325951453030303030303035222c2277223a302c226e616d65223a226f74686572222c226b696e64223a22616c696173222c22766572223a312c22637263223a223839343730363466227d');
INSERT INTO weft.hidden_0 VALUES ('\x01a1ecde44de6152e9090d4ff2bd4207', 4, 1, 6);
INSERT INTO weft.meta VALUES (1, 4);
INSERT INTO weft.names VALUES ('\x6b', '\x01a1ecde430d1c22ca468ba6eb117aee', 1, 1);
INSERT INTO weft.names VALUES ('\x6f74686572', '\x01a1ecde430d1c22ca468ba6eb117aee', 1, 2);
INSERT INTO weft.names VALUES ('\x676f6e65', '\x00000000000000000000000000000000', 2, 1);
INSERT INTO weft.search_epoch VALUES (1, 1);
INSERT INTO weft.sessions VALUES ('\x01a1ecde430d1c22ca468ba6eb117aee', 1, NULL, NULL, '\x01a1ecde430d1c22ca468ba6eb117aee', NULL, 0, '\x6b', 1, '\x6d616465', '\x', '\x6d61696e', '\x6669727374', '\x2f70', '\x', '\x', '\x', '\x', '\x', '\x', '\x', '\x', 5, 4, 0, 0, '\x', 0, 3, 0, 2, 3, 7, 3, 0, 0, 0, 1, 7, 3, 0, 0, 0, 1, '\x6f6e65', '\x7468726565', '\x74776f', '\x', '\x', '\x', 2, 4, 3, 0, 0, 0, '\x', 0, 0, 951, 0, 0, 1794975351565, 1794975351955, 1794975351864, 0, 0, 716908362478, '\x6669727374ff2f70ff6f6e65', 0, DEFAULT, DEFAULT, 177537);
INSERT INTO weft.sessions VALUES ('\x01a1ecde450c5ebe85d45590f72048a7', 1, NULL, NULL, '\x01a1ecde450c5ebe85d45590f72048a7', NULL, 0, '\x676f6e65', 0, '\x', '\x', '\x6d61696e', '\x7468697264', '\x', '\x', '\x', '\x', '\x', '\x', '\x', '\x', '\x', 3, 2, 0, 0, '\x', 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '\x696e20746865207472617368', '\x696e20746865207472617368', '\x', '\x', '\x', '\x', 2, 2, 0, 0, 0, 0, '\x', 0, 0, 531, 0, 0, 1794975352076, 1794975352254, 1794975352174, 1794975352254, 0, 622621378727, '\x7468697264ffff696e20746865207472617368', 0, DEFAULT, DEFAULT, 177553);
INSERT INTO weft.sessions VALUES ('\x01a1ecde44de6152e9090d4ff2bd4207', 1, '\x01a1ecde430d1c22ca468ba6eb117aee', '\x01a1ecde430d1c22ca468ba6eb117aee', '\x01a1ecde430d1c22ca468ba6eb117aee', NULL, 4, '\x', 0, '\x', '\x', '\x6d61696e', '\x7365636f6e64', '\x2f70', '\x', '\x', '\x', '\x', '\x', '\x', '\x', '\x', 6, 6, 0, 0, '\x', 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '\x', '\x', '\x', '\x', '\x', '\x', 0, 0, 0, 0, 0, 0, '\x', 0, 0, 509, 0, 0, 1794975352030, 1794975352578, 1794975352030, 0, 0, 343374905863, '\x7365636f6e64ff2f70ff', 0, DEFAULT, DEFAULT, 177561);
ALTER TABLE ONLY weft.blob_refs
    ADD CONSTRAINT blob_refs_pkey PRIMARY KEY (sha256, session);
ALTER TABLE ONLY weft.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (sha256);
ALTER TABLE ONLY weft.commits
    ADD CONSTRAINT commits_name_key UNIQUE (name);
ALTER TABLE ONLY weft.commits
    ADD CONSTRAINT commits_pkey PRIMARY KEY (node);
ALTER TABLE ONLY weft.hidden
    ADD CONSTRAINT hidden_pkey PRIMARY KEY (session, target);
ALTER TABLE ONLY weft.hidden_0
    ADD CONSTRAINT hidden_0_pkey PRIMARY KEY (session, target);
ALTER TABLE ONLY weft.hidden_1
    ADD CONSTRAINT hidden_1_pkey PRIMARY KEY (session, target);
ALTER TABLE ONLY weft.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (one);
ALTER TABLE ONLY weft.names
    ADD CONSTRAINT names_pkey PRIMARY KEY (name);
ALTER TABLE ONLY weft.search_epoch
    ADD CONSTRAINT search_epoch_pkey PRIMARY KEY (one);
ALTER TABLE ONLY weft.words
    ADD CONSTRAINT words_pkey PRIMARY KEY (session, seq);
CREATE INDEX all_creation ON weft.sessions USING btree (created_at, id, kind, deleted_at) WHERE (purged_at = 0);
CREATE INDEX all_interaction ON weft.sessions USING btree (recent, kind, deleted_at) WHERE (purged_at = 0);
CREATE INDEX blob_refs_session ON weft.blob_refs USING btree (session);
CREATE INDEX blobs_at ON weft.blobs USING btree (at_ms);
CREATE INDEX events_creation ON ONLY weft.events USING btree (op, session) WHERE ((op <> '\x'::bytea) AND (type = 1));
CREATE INDEX events_0_op_session_idx ON weft.events_0 USING btree (op, session) WHERE ((op <> '\x'::bytea) AND (type = 1));
CREATE INDEX events_op ON ONLY weft.events USING btree (session, op, seq) WHERE ((op <> '\x'::bytea) AND (type <> 1));
CREATE INDEX events_0_session_op_seq_idx ON weft.events_0 USING btree (session, op, seq) WHERE ((op <> '\x'::bytea) AND (type <> 1));
CREATE UNIQUE INDEX events_place ON ONLY weft.events USING btree (session, seq);
CREATE UNIQUE INDEX events_0_session_seq_idx ON weft.events_0 USING btree (session, seq);
CREATE INDEX events_1_op_session_idx ON weft.events_1 USING btree (op, session) WHERE ((op <> '\x'::bytea) AND (type = 1));
CREATE INDEX events_1_session_op_seq_idx ON weft.events_1 USING btree (session, op, seq) WHERE ((op <> '\x'::bytea) AND (type <> 1));
CREATE UNIQUE INDEX events_1_session_seq_idx ON weft.events_1 USING btree (session, seq);
CREATE INDEX live_creation ON weft.sessions USING btree (kind, created_at, id) WHERE ((deleted_at = 0) AND (purged_at = 0));
CREATE INDEX live_interaction ON weft.sessions USING btree (kind, recent, project_dir) WHERE ((deleted_at = 0) AND (purged_at = 0));
CREATE INDEX names_session ON weft.names USING btree (session, kind, name);
CREATE INDEX sessions_behind ON weft.sessions USING btree (id) WHERE unindexed;
CREATE UNIQUE INDEX sessions_id ON weft.sessions USING btree (id);
CREATE INDEX sessions_op ON weft.sessions USING btree (op, id) WHERE (op <> '\x'::bytea);
CREATE INDEX sessions_parent ON weft.sessions USING btree (parent) WHERE (parent IS NOT NULL);
CREATE INDEX sessions_slug ON weft.sessions USING btree (slug) WHERE (slug <> '\x'::bytea);
CREATE INDEX sessions_tag ON weft.sessions USING btree (tag, id);
CREATE INDEX words_words ON weft.words USING gin (words);
ALTER INDEX weft.events_creation ATTACH PARTITION weft.events_0_op_session_idx;
ALTER INDEX weft.events_op ATTACH PARTITION weft.events_0_session_op_seq_idx;
ALTER INDEX weft.events_place ATTACH PARTITION weft.events_0_session_seq_idx;
ALTER INDEX weft.events_creation ATTACH PARTITION weft.events_1_op_session_idx;
ALTER INDEX weft.events_op ATTACH PARTITION weft.events_1_session_op_seq_idx;
ALTER INDEX weft.events_place ATTACH PARTITION weft.events_1_session_seq_idx;
ALTER INDEX weft.hidden_pkey ATTACH PARTITION weft.hidden_0_pkey;
ALTER INDEX weft.hidden_pkey ATTACH PARTITION weft.hidden_1_pkey;
