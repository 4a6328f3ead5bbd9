/* file_line.c - the first line of a session's file. */
#include "base/id.h"
#include "model/line.h"
#include "model/object.h"

#define FILE_LINE_MAX 160 /* of a line as we write it */

void file_line_write(struct buf *b, const struct weft_id *session, uint64_t gen)
{
	char memory[FILE_LINE_MAX];
	struct buf line = buf_over(memory, sizeof(memory));
	char id[WEFT_ID_CHARS + 1];
	char *end;

	id_format(session, id);
	buf_add_lit(&line, "{\"weft\":");
	buf_add_u64(&line, EVENT_FORMAT);
	buf_add_lit(&line, ",\"session\":\"");
	buf_add(&line, id, WEFT_ID_CHARS);
	buf_add_lit(&line, "\",\"gen\":");
	buf_add_u64(&line, gen);
	buf_add_lit(&line, ",\"needs\":[]");
	end = line_put_crc(memory + line.len, session, memory);
	buf_add(b, memory, (size_t)(end - memory));
}

/* There is nothing yet that a file could need. */
static void read_needs(yyjson_val *needs, struct file_line *ret)
{
	struct weft_str need = STR("?");
	size_t n;

	ret->known_needs =
		!needs || (yyjson_is_arr(needs) && yyjson_arr_size(needs) == 0);
	if (ret->known_needs)
		return;
	if (yyjson_is_str(yyjson_arr_get_first(needs)))
		need = json_str(yyjson_arr_get_first(needs));
	n = need.len < sizeof(ret->first_need) - 1 ?
		    need.len :
		    sizeof(ret->first_need) - 1;
	memcpy(ret->first_need, need.ptr, n);
	ret->first_need[n] = '\0';
}

bool file_line_read(struct weft_str line, struct file_line *ret)
{
	char pool[KIB(4)]; /* in front of what lives in it */
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct file_line f = { .sealed = false };
	yyjson_val *root;

	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	doc = json_parse_trusted(line, pool, sizeof(pool));
	root = yyjson_doc_get_root(doc);
	if (!value_u64(yyjson_obj_get(root, "weft"), NUMBER_MAX, &f.version) ||
	    !id_parse(json_str(yyjson_obj_get(root, "session")), &f.session))
		return false;
	(void)value_u64(yyjson_obj_get(root, "gen"), NUMBER_MAX, &f.gen);
	read_needs(yyjson_obj_get(root, "needs"), &f);
	f.sealed = line_crc_ok(&f.session, line);
	*ret = f;
	return true;
}
