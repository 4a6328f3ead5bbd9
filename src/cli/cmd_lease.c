/* cmd_lease.c - weft lease */
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_OWNER, OPT_TTL, OPT_TOKEN, OPT_OP };

static const struct opt opts[] = {
	[OPT_OWNER] = { .name = "owner",
			.takes = "O",
			.kind = OPT_TEXT,
			.about = "who holds it: a name that nobody else uses" },
	[OPT_TTL] = { .name = "ttl",
		      .takes = "S",
		      .kind = OPT_NUMBER,
		      .about = "for how many seconds; default 60" },
	[OPT_TOKEN] = { .name = "token",
			.takes = "N",
			.kind = OPT_NUMBER,
			.about = "the token of the lease to renew or release" },
	[OPT_OP] = { .name = "op",
		     .takes = "O",
		     .kind = OPT_TEXT,
		     .about = "operation id: the same one again writes nothing "
			      "and prints what it did the first time" },
};

static const struct arg args[] = {
	{ .name = "HOW",
	  .about = "acquire it if nobody has it, renew or release one's own, "
		   "or take it over from whoever has it",
	  .values = "acquire|renew|release|takeover" },
	ARG_SESSION,
};

static void text_lease(struct cli *c, yyjson_val *lease)
{
	if (!val_u64(lease, "token")) {
		out_add(&c->out, STR("released\n"));
		return;
	}
	out_printf(&c->out, "%llu until %.*s, held by ",
		   (unsigned long long)val_u64(lease, "token"),
		   STR_ARG(val_str(lease, "expires_at")));
	out_one_line(&c->out, val_str(lease, "owner"));
	out_add(&c->out, STR("\n"));
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "lease");
	req_text(&q, "how", "HOW", cli_arg(c, 0));
	req_session(&q, 1);
	req_opt(&q, "owner", OPT_OWNER);
	req_number(&q, "ttl", OPT_TTL);
	req_number(&q, "token", OPT_TOKEN);
	req_opt(&q, "op", OPT_OP);
	c->out.must_arrive = true;
	return cli_answer(c, &q, text_lease);
}

const struct command cmd_lease = {
	.name = "lease",
	.summary = "hold the right to write a session",
	.about = "Whoever holds the lease of a session is the only one that "
		 "appends to it: everybody else is refused until it is "
		 "released, or its time is over by the clock of this "
		 "machine. Prints the lease's token, which append and others "
		 "take with --token.\n"
		 "\n"
		 "Every new lease has a larger token. An owner that was asleep "
		 "while its lease was taken over is refused when it wakes up, "
		 "since its token is compared when it writes.\n"
		 "\n"
		 "renew and release want --token; without it, --owner must be "
		 "the holder's name.",
	.example = "read -r token rest <<<$(weft lease acquire work --owner "
		   "me)\n"
		   "weft append work --token $token 'only I may say this'\n"
		   "weft lease release work --owner me --token $token",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};
