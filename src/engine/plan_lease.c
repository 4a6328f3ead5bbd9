/*
 * plan_lease.c - who may write a session.
 *
 * The token is compared here, inside the write: whoever was asleep while its
 * lease was taken over is refused when it wakes up, however sure it was before.
 */
#include "base/clock.h"
#include "base/error.h"
#include "engine/plan.h"

static int fail_leased(const struct session_rec *rec, struct weft_error *err)
{
	char when[TIME_CHARS + 1];

	time_format(rec->lease_expires_at, when);
	return fail(err, WEFT_LEASED,
		    "leased by '%.*s' until %s (token %llu): wait, write with "
		    "its token, or take it over",
		    STR_ARG(rec->lease_owner), when,
		    (unsigned long long)rec->lease_token);
}

int plan_check_lease(const struct plan *p, const struct plan_session *s,
		     const struct request *q, struct weft_error *err)
{
	bool held = lease_in_force(&s->rec, p->now_ms);

	if (held && q->token != s->rec.lease_token)
		return fail_leased(&s->rec, err);
	/* Who thinks that it holds a lease must hear that it does not. */
	if (!held && q->token)
		return fail(err, WEFT_STALE,
			    "lease token %llu is not in force any more: "
			    "acquire the lease again",
			    (unsigned long long)q->token);
	return WEFT_OK;
}

/* By its token or, for who has not kept it, by its owner's name. */
static bool is_holder(const struct session_rec *rec, const struct request *q)
{
	if (q->token && q->token != rec->lease_token)
		return false;
	return !q->lease.owner.len || str_eq(q->lease.owner, rec->lease_owner);
}

/* Whether the request may be carried out; *ret_needed: it changes something. */
static int check_lease_act(const struct plan *p, const struct plan_session *s,
			   const struct request *q, bool *ret_needed,
			   struct weft_error *err)
{
	const struct session_rec *rec = &s->rec;
	bool held = lease_in_force(rec, p->now_ms);

	*ret_needed = true;
	switch ((enum lease_how)q->lease.how) {
	case LEASE_ACQUIRE:
		return held ? fail_leased(rec, err) : WEFT_OK;
	case LEASE_TAKEOVER:
		return WEFT_OK;
	case LEASE_RENEW:
		if (!held)
			return fail(err, WEFT_STALE,
				    "no lease is in force: acquire it again");
		break;
	case LEASE_RELEASE:
		*ret_needed = held;
		break;
	}
	return held && !is_holder(rec, q) ? fail_leased(rec, err) : WEFT_OK;
}

/* What will hold after the request, in the request's own memory. */
static int next_lease(const struct plan *p, const struct plan_session *s,
		      struct request *q, struct lease *ret,
		      struct weft_error *err)
{
	*ret = (struct lease){
		.how = q->lease.how,
		.owner = q->lease.owner,
		.token = s->rec.head_seq + 1,
		.expires_at = p->now_ms + q->lease_ms,
	};
	if (ret->how == LEASE_RENEW || ret->how == LEASE_RELEASE) {
		ret->owner = arena_str(&q->arena, s->rec.lease_owner);
		ret->token = s->rec.lease_token;
	}
	if (ret->how == LEASE_RELEASE)
		ret->expires_at = p->now_ms;
	return ret->owner.ptr ? WEFT_OK : arena_error(&q->arena, err);
}

static void answer_lease(struct request *q, const struct lease *l)
{
	if (l->how != LEASE_RELEASE)
		q->ret_lease = *l;
}

int plan_same_lease(struct plan *p, const struct request *q,
		    const struct store_event *e, bool *ret,
		    struct weft_error *err)
{
	struct lease l;
	int r = lease_read(e->body, &p->arena, &l, err);

	*ret = r == WEFT_OK && l.how == q->lease.how &&
	       (!q->lease.owner.len || str_eq(l.owner, q->lease.owner)) &&
	       (!q->token || l.how == LEASE_ACQUIRE ||
		l.how == LEASE_TAKEOVER || l.token == q->token);
	return r;
}

/* Who asks again hears what it was given then, not what holds by now. */
static int answer_again(struct plan *p, const struct plan_session *s,
			struct request *q, struct weft_error *err)
{
	const struct store_event *e;
	struct lease l;
	int r = plan_event_at(p, s, q->ret_seq, &e, err);

	if (r == WEFT_OK)
		r = lease_read(e->body, &q->arena, &l, err);
	if (r == WEFT_OK)
		answer_lease(q, &l);
	return r;
}

int plan_lease(struct plan *p, struct request *q, struct weft_error *err)
{
	uint64_t first_seq;
	struct plan_session *s;
	struct lease next;
	bool needed = false;
	int r = plan_find_asked(p, q, &s, err);

	if (r < 0)
		return r;
	r = plan_replay(p, s, q, EVENT_LEASE, err);
	if (r != 0)
		return r < 0 ? r : answer_again(p, s, q, err);
	if (q->lease.how != LEASE_RELEASE)
		r = plan_check_live(s, err);
	if (r == WEFT_OK)
		r = check_lease_act(p, s, q, &needed, err);
	if (r == WEFT_OK)
		r = plan_check_room(s, 1, err);
	if (r < 0 || !needed)
		return r;
	r = next_lease(p, s, q, &next, err);
	if (r < 0)
		return r;
	first_seq = s->rec.head_seq + 1;
	buf_reset(&p->body);
	lease_body(&p->body, &next);
	r = plan_add_asked(p, s, EVENT_LEASE, q, 0, err);
	if (r < 0)
		return r;
	plan_answer(q, s, first_seq);
	answer_lease(q, &next);
	return WEFT_OK;
}
