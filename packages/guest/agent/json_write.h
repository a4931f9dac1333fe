#ifndef HOLDFAST_JSON_WRITE_H
#define HOLDFAST_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* JSON under construction. Once `full` is set nothing more is written and the text is not to be used. */
struct json_out {
  char *bytes;
  size_t length, capacity;
  bool full;
};

void json_raw(struct json_out *out, const char *text);
/* A quoted text; bytes that are not UTF-8 become U+FFFD. */
void json_text(struct json_out *out, const char *text, size_t length);
void json_number(struct json_out *out, uint64_t value);
/* A comma where one is needed, then the name and a colon. */
void json_name(struct json_out *out, const char *name);
void json_comma(struct json_out *out);

void json_field_text(struct json_out *out, const char *name, const char *value);
void json_field_number(struct json_out *out, const char *name, uint64_t value);
void json_field_bool(struct json_out *out, const char *name, bool value);
/* A negative value, or one that JSON readers cannot hold exactly, is null. */
void json_field_maybe(struct json_out *out, const char *name, int64_t value);

#endif
