#ifndef HOLDFAST_JSON_READ_H
#define HOLDFAST_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_kind { JSON_NUMBER, JSON_BOOL, JSON_TEXT };

/* One field that must be there. `max` bounds a number's value or a text's bytes. */
struct json_field {
  const char *name;
  enum json_kind kind;
  uint64_t min, max;
  void *out; /* uint64_t *, bool * or const char ** */
  bool seen;
};

enum json_status { JSON_OK, JSON_BAD, JSON_BAD_FIELD };

/*
 * Reads one flat object whose fields are exactly `fields`, in any order. Texts are unescaped in place and closed with
 * NUL; they live as long as `text`. Nothing nests, so nothing recurses.
 */
enum json_status json_read(char *text, size_t length, struct json_field *fields, size_t count);

#endif
