#include "json_read.h"

#include <string.h>

struct cursor {
  char *at;
  char *end;
};

static void skip_blanks(struct cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

static bool take(struct cursor *c, char wanted) {
  skip_blanks(c);
  if (c->at == c->end || *c->at != wanted) return false;
  c->at++;
  return true;
}

static bool read_hex4(struct cursor *c, uint32_t *out) {
  if (c->end - c->at < 4) return false;
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) {
    char digit = *c->at++;
    value <<= 4;
    if (digit >= '0' && digit <= '9') value |= (uint32_t)(digit - '0');
    else if ((digit | 32) >= 'a' && (digit | 32) <= 'f') value |= (uint32_t)((digit | 32) - 'a' + 10);
    else return false;
  }
  *out = value;
  return true;
}

static bool read_code_point(struct cursor *c, uint32_t *out) {
  uint32_t low;
  if (!read_hex4(c, out) || *out == 0) return false;
  if (*out < 0xd800 || *out > 0xdfff) return true;
  if (*out > 0xdbff || c->end - c->at < 6 || c->at[0] != '\\' || c->at[1] != 'u') return false;
  c->at += 2;
  if (!read_hex4(c, &low) || low < 0xdc00 || low > 0xdfff) return false;
  *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
  return true;
}

static char *put_utf8(char *to, uint32_t point) {
  if (point < 0x80) {
    *to++ = (char)point;
    return to;
  }
  int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  static const uint8_t LEAD[] = {0, 0xc0, 0xe0, 0xf0};
  *to++ = (char)(LEAD[more] | point >> (6 * more));
  while (more-- > 0) *to++ = (char)(0x80 | (point >> (6 * more) & 0x3f));
  return to;
}

static bool read_escape(struct cursor *c, char **to) {
  static const char FROM[] = "\"\\/bfnrt", INTO[] = "\"\\/\b\f\n\r\t";
  if (c->at == c->end) return false;
  char letter = *c->at++;
  if (letter == 'u') {
    uint32_t point;
    if (!read_code_point(c, &point)) return false;
    *to = put_utf8(*to, point);
    return true;
  }
  const char *found = letter ? strchr(FROM, letter) : NULL;
  if (!found) return false;
  *(*to)++ = INTO[found - FROM];
  return true;
}

/* An escape is never shorter than what it stands for, so the text shrinks in place. */
static bool read_text(struct cursor *c, const char **out, size_t *length) {
  if (!take(c, '"')) return false;
  char *start = c->at, *to = c->at;
  while (c->at < c->end && *c->at != '"') {
    if ((unsigned char)*c->at < 0x20) return false;
    if (*c->at == '\\') {
      c->at++;
      if (!read_escape(c, &to)) return false;
    } else {
      *to++ = *c->at++;
    }
  }
  if (c->at == c->end) return false;
  c->at++;
  *to = 0;
  *out = start;
  *length = (size_t)(to - start);
  return true;
}

static enum json_status read_number(struct cursor *c, struct json_field *field) {
  uint64_t value = 0;
  int digits = 0;
  while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
    if (++digits > 16) return JSON_BAD_FIELD;
    value = value * 10 + (uint64_t)(*c->at++ - '0');
  }
  if (digits == 0 || (c->at < c->end && strchr(".eE+-", *c->at))) return JSON_BAD_FIELD;
  if (value < field->min || value > field->max) return JSON_BAD_FIELD;
  *(uint64_t *)field->out = value;
  return JSON_OK;
}

static enum json_status read_bool(struct cursor *c, struct json_field *field) {
  size_t left = (size_t)(c->end - c->at);
  bool yes = left >= 4 && memcmp(c->at, "true", 4) == 0;
  if (!yes && !(left >= 5 && memcmp(c->at, "false", 5) == 0)) return JSON_BAD_FIELD;
  c->at += yes ? 4 : 5;
  *(bool *)field->out = yes;
  return JSON_OK;
}

static enum json_status read_value(struct cursor *c, struct json_field *field) {
  skip_blanks(c);
  if (c->at == c->end) return JSON_BAD;
  if (field->kind == JSON_NUMBER) return read_number(c, field);
  if (field->kind == JSON_BOOL) return read_bool(c, field);
  if (*c->at != '"') return JSON_BAD_FIELD;
  size_t length;
  if (!read_text(c, field->out, &length)) return JSON_BAD;
  return length < field->min || length > field->max ? JSON_BAD_FIELD : JSON_OK;
}

static enum json_status read_member(struct cursor *c, struct json_field *fields, size_t count) {
  const char *name;
  size_t length;
  if (!read_text(c, &name, &length) || !take(c, ':')) return JSON_BAD;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(fields[i].name, name) != 0) continue;
    if (fields[i].seen) return JSON_BAD_FIELD;
    fields[i].seen = true;
    return read_value(c, &fields[i]);
  }
  return JSON_BAD_FIELD;
}

enum json_status json_read(char *text, size_t length, struct json_field *fields, size_t count) {
  struct cursor c = {text, text + length};
  if (!take(&c, '{')) return JSON_BAD;
  if (!take(&c, '}')) {
    do {
      enum json_status status = read_member(&c, fields, count);
      if (status != JSON_OK) return status;
    } while (take(&c, ','));
    if (!take(&c, '}')) return JSON_BAD;
  }
  skip_blanks(&c);
  if (c.at != c.end) return JSON_BAD;
  for (size_t i = 0; i < count; i++) {
    if (!fields[i].seen) return JSON_BAD_FIELD;
  }
  return JSON_OK;
}
