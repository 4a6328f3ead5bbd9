/* cleanup.c - the method that carries out the rules of retention. */
#include "api/api.h"

static void encode_item(struct buf *b, const struct maintain_item *i)
{
	buf_add_lit(b, "{\"id\":");
	encode_id(b, &i->session);
	buf_add_lit(b, ",\"key\":");
	encode_text_or_null(b, i->key);
	buf_add_lit(b, ",\"slug\":");
	buf_add_json(b, i->slug);
	buf_add_lit(b, ",\"why\":");
	buf_add_json(b, i->why);
	buf_add_lit(b, ",\"bytes\":");
	buf_add_u64(b, i->bytes);
	buf_add_lit(b, ",\"last_use_at\":");
	encode_time(b, i->last_use_at);
	buf_add_c(b, '}');
}

static void encode_items(struct buf *b, const struct maintain_list *l)
{
	buf_add_lit(b, "{\"count\":");
	buf_add_u64(b, l->count);
	buf_add_lit(b, ",\"bytes\":");
	buf_add_u64(b, l->bytes);
	buf_add_lit(b, ",\"sessions\":[");
	for (size_t i = 0; i < l->n; i++) {
		if (i > 0)
			buf_add_c(b, ',');
		encode_item(b, &l->v[i]);
	}
	buf_add_lit(b, "]}");
}

static void encode_cleanup(struct buf *b, const struct maintain_report *r,
			   bool dry)
{
	buf_add_str(b, r->ran ? STR("{\"ran\":true") : STR("{\"ran\":false"));
	buf_add_lit(b, ",\"why_not\":");
	encode_text_or_null(b, r->why_not);
	buf_add_str(b,
		    dry ? STR(",\"dry_run\":true") : STR(",\"dry_run\":false"));
	buf_add_lit(b, ",\"looked\":");
	buf_add_u64(b, r->looked);
	buf_add_lit(b, ",\"suspended\":");
	buf_add_u64(b, r->suspended);
	buf_add_lit(b, ",\"blobs\":");
	buf_add_u64(b, r->blobs);
	buf_add_lit(b, ",\"removed\":");
	encode_items(b, &r->removed);
	buf_add_lit(b, ",\"purged\":");
	encode_items(b, &r->purged);
	buf_add_lit(b, ",\"spared\":");
	encode_items(b, &r->spared);
	buf_add_lit(b, ",\"last_run_at\":");
	encode_time(b, r->last_run_at);
	buf_add_lit(b, ",\"next_run_at\":");
	encode_time(b, r->next_run_at);
	buf_add_c(b, '}');
}

static int method_cleanup(struct call *c)
{
	const struct maintain_ask ask = {
		.if_due = call_bool(c, "if_due"),
		.dry = call_bool(c, "dry_run"),
	};
	struct maintain_report report;
	int r = engine_maintain(c->engine, &ask, &c->arena, &report, c->err);

	if (r == WEFT_OK)
		encode_cleanup(&c->out, &report, ask.dry);
	return r;
}

/* ---- the rows of the table ---- */

static const struct field fields_cleanup[] = {
	{ .name = "dry_run",
	  .about = "only say what would be removed",
	  .type = TYPE_BOOLEAN },
	{ .name = "if_due",
	  .about = "only if lifecycle.maintenance_hour has passed since it "
		   "last ran",
	  .type = TYPE_BOOLEAN },
};

static const struct method rows[] = {
	{ .name = "cleanup",
	  .about = "Let idle sessions leave memory, and carry out the rules of "
		   "retention: put into the trash what they say, purge what "
		   "was there long enough. Never touches a session that is "
		   "pinned, leased, running or forked. One runs at a time.",
	  .answer = "`{\"ran\",\"why_not\",\"dry_run\",\"looked\","
		    "\"suspended\",\"blobs\",\"removed\":L,\"purged\":L,"
		    "\"spared\":L,"
		    "\"last_run_at\",\"next_run_at\"}`; L is `{\"count\","
		    "\"bytes\",\"sessions\":[{\"id\",\"key\",\"slug\","
		    "\"why\",\"bytes\",\"last_use_at\"}]}` with the first "
		    "1,000",
	  .right = RIGHT_ADMIN,
	  FIELDS(fields_cleanup),
	  .run = method_cleanup },
};

const struct method_group methods_cleanup = METHOD_GROUP(rows);
