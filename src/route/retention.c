/* retention.c - which sessions have been kept long enough. */
#include "route/retention.h"

#include "base/error.h"
#include "base/text.h"
#include "model/lease.h"
#include "model/turn.h"
#include "route/lifecycle.h"
#include "route/norm.h"

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

int retention_begin(struct retention *t, const struct config_retention *c,
		    int64_t now_ms, struct arena *a, struct weft_error *err)
{
	*t = (struct retention){
		.config = c,
		.now_ms = now_ms,
		.counts =
			ARENA_ARRAY(a, struct retention_count, c->rules.n + 1),
	};
	return t->counts ? WEFT_OK : arena_error(a, err);
}

const char *retention_protects(const struct session_rec *rec, int64_t now_ms)
{
	if (rec->pinned)
		return "pinned";
	if (lease_in_force(rec, now_ms))
		return "leased";
	return turn_is_running(rec, now_ms) ? "running" : NULL;
}

int64_t retention_last_use(const struct session_rec *rec, int64_t now_ms)
{
	const int64_t v[] = { rec->last_interaction_at, rec->updated_at,
			      rec->created_at };

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		if (v[i] > 0 && v[i] <= now_ms)
			return v[i];
	}
	return 0;
}

static bool is_same(struct weft_str wanted, struct weft_str found,
		    struct arena *a)
{
	wanted = norm_clean(wanted, a);
	return wanted.len == 0 || str_eq(wanted, norm_clean(found, a));
}

/* Whether the scope of a session is what a rule is about; one that was never
 * routed has none. */
static bool fits_scope(const struct config_retention_rule *r,
		       const struct session_rec *rec, struct arena *a)
{
	struct scope scope;

	if (norm_trim(r->account).len == 0 && norm_trim(r->chat_type).len == 0)
		return true;
	if (rec->scope.len == 0 ||
	    scope_parse(rec->scope, a, &scope, NULL) != WEFT_OK)
		return false;
	if (norm_trim(r->account).len &&
	    !str_eq(norm_account(r->account, a), scope.account))
		return false;
	return is_same(r->chat_type, scope_chat_type(&scope), a);
}

/* Books are no conversations: only a rule that names them is about them. */
static bool fits(const struct config_retention_rule *r,
		 const struct session_rec *rec, struct arena *a)
{
	if (r->kind ? r->kind != rec->kind : rec->kind == KIND_BOOK)
		return false;
	return is_same(r->agent, rec->agent, a) &&
	       is_same(r->channel, rec->channel, a) && fits_scope(r, rec, a);
}

/* The number of the rule that counts; n if none does. */
static size_t find_rule(const struct retention *t,
			const struct session_rec *rec, struct arena *a)
{
	const struct config_retention_rule *v = t->config->rules.v;
	size_t i = 0;

	while (i < t->config->rules.n && !fits(&v[i], rec, a))
		i++;
	return i;
}

static bool has_limit(const struct config_retention_rule *r)
{
	return r->idle_days || r->max_sessions || r->max_bytes;
}

/* Whether so many days lie between the two; what is not known is recent. */
static bool is_past(int64_t since, int64_t now, uint64_t days)
{
	return since > 0 && since <= now &&
	       now - since > (int64_t)days * DAY_MS;
}

static enum retention_verdict judge_trash(const struct retention *t,
					  const struct session_rec *rec,
					  struct arena *a,
					  struct weft_str *ret_why)
{
	uint64_t days = t->config->trash_days;

	if (rec->purged_at || !is_past(rec->deleted_at, t->now_ms, days))
		return RETENTION_KEEP;
	*ret_why = arena_printf(a, "in the trash for more than %s",
				COUNT(days, "day"));
	return RETENTION_PURGE;
}

static enum retention_verdict judge_live(const struct retention *t, size_t i,
					 const struct session_rec *rec,
					 struct arena *a,
					 struct weft_str *ret_why)
{
	const struct config_retention_rule *r =
		(const struct config_retention_rule *)t->config->rules.v + i;
	const struct retention_count *have = &t->counts[i];
	int64_t since = retention_last_use(rec, t->now_ms);

	if (lifecycle_is_expired(rec->expires_at, t->now_ms))
		*ret_why = arena_printf(a, "rule %zu: it has expired", i + 1);
	else if (r->idle_days && is_past(since, t->now_ms, r->idle_days))
		*ret_why = arena_printf(a, "rule %zu: idle for more than %s",
					i + 1, COUNT(r->idle_days, "day"));
	else if (r->max_sessions && have->sessions >= r->max_sessions)
		*ret_why = arena_printf(a, "rule %zu: more than %s", i + 1,
					COUNT(r->max_sessions, "session"));
	else if (r->max_bytes && have->bytes + rec->bytes > r->max_bytes)
		*ret_why = arena_printf(a, "rule %zu: more than %s", i + 1,
					COUNT(r->max_bytes, "byte"));
	else
		return RETENTION_KEEP;
	return RETENTION_REMOVE;
}

static void count(struct retention_count *c, const struct session_rec *rec)
{
	c->sessions++;
	c->bytes += rec->bytes;
}

enum retention_verdict retention_judge(struct retention *t,
				       const struct session_rec *rec,
				       struct arena *a,
				       struct weft_str *ret_why)
{
	const struct config_retention_rule *rules = t->config->rules.v;
	size_t i = find_rule(t, rec, a);
	enum retention_verdict verdict;

	*ret_why = STR("");
	if (i == t->config->rules.n || !has_limit(&rules[i]))
		return RETENTION_KEEP;
	if (rec->deleted_at)
		return judge_trash(t, rec, a, ret_why);
	verdict = judge_live(t, i, rec, a, ret_why);
	if (verdict == RETENTION_KEEP)
		count(&t->counts[i], rec);
	return verdict;
}

void retention_spare(struct retention *t, const struct session_rec *rec,
		     struct arena *a)
{
	size_t i = find_rule(t, rec, a);

	if (i < t->config->rules.n)
		count(&t->counts[i], rec);
}
