/* lease.c - the right to write a session, for one owner and for a while. */
#include "model/lease.h"

#include "base/clock.h"
#include "model/object.h"

static const struct weft_str how_names[] = {
	[LEASE_ACQUIRE] = STR_INIT("acquire"),
	[LEASE_RENEW] = STR_INIT("renew"),
	[LEASE_RELEASE] = STR_INIT("release"),
	[LEASE_TAKEOVER] = STR_INIT("takeover"),
};

const char *lease_how_name(uint32_t how)
{
	return how >= LEASE_ACQUIRE && how < ARRAY_LEN(how_names) ?
		       how_names[how].ptr :
		       "unknown";
}

bool lease_how_parse(struct weft_str s, uint32_t *ret)
{
	for (uint32_t i = LEASE_ACQUIRE; i < ARRAY_LEN(how_names); i++) {
		if (str_eq(s, how_names[i])) {
			*ret = i;
			return true;
		}
	}
	return false;
}

void lease_body(struct buf *b, const struct lease *l)
{
	char when[TIME_CHARS + 1];

	buf_printf(b, "\"how\":\"%s\",\"owner\":", lease_how_name(l->how));
	buf_add_json(b, l->owner);
	buf_add_lit(b, ",\"token\":");
	buf_add_u64(b, l->token);
	time_format(l->expires_at, when);
	buf_printf(b, ",\"expires_at\":\"%s\"", when);
}

static bool read_members(yyjson_val *root, struct arena *a, struct lease *l)
{
	struct weft_str when = json_str(yyjson_obj_get(root, "expires_at"));

	if (!lease_how_parse(json_str(yyjson_obj_get(root, "how")), &l->how))
		return false;
	l->owner = value_text(yyjson_obj_get(root, "owner"), a);
	return l->owner.len && when.ptr &&
	       time_parse_rfc3339(when, &l->expires_at) &&
	       value_u64(yyjson_obj_get(root, "token"), NUMBER_MAX, &l->token);
}

int lease_read(struct weft_str body, struct arena *a, struct lease *ret,
	       struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o;
	int r = body_object_parse(&o, body, a, err);

	*ret = (struct lease){ 0 };
	if (r == WEFT_OK && !read_members(o.root, a, ret))
		ret->how = 0;
	return r == WEFT_CORRUPT ? WEFT_OK : r;
}

void lease_apply(const struct lease *l, struct session_rec *rec)
{
	if (l->how == 0)
		return;
	if (l->how == LEASE_RELEASE) {
		rec->lease_owner = STR("");
		rec->lease_token = 0;
		rec->lease_expires_at = 0;
		return;
	}
	rec->lease_owner = l->owner;
	rec->lease_token = l->token;
	rec->lease_expires_at = l->expires_at;
}
