#include "json_write.h"

#include <string.h>

#define EXACT_MAX 9007199254740991

static void put(struct json_out *out, const char *bytes, size_t count) {
  if (out->full || out->capacity - out->length < count) {
    out->full = true;
    return;
  }
  memcpy(out->bytes + out->length, bytes, count);
  out->length += count;
}

void json_raw(struct json_out *out, const char *text) {
  put(out, text, strlen(text));
}

/* Length of the UTF-8 character at `at`, or 0 where there is none. */
static size_t utf8_length(const uint8_t *at, size_t left) {
  size_t length = at[0] < 0x80 ? 1 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                : at[0] >= 0xf0 && at[0] < 0xf5 ? 4 : 0;
  if (length == 0 || length > left) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;
  }
  if (at[0] == 0xe0 && at[1] < 0xa0) return 0;
  if (at[0] == 0xed && at[1] > 0x9f) return 0;
  if (at[0] == 0xf0 && at[1] < 0x90) return 0;
  if (at[0] == 0xf4 && at[1] > 0x8f) return 0;
  return length;
}

static void put_escaped(struct json_out *out, uint8_t byte) {
  static const char HEX[] = "0123456789abcdef";
  char escape[6] = {'\\', 'u', '0', '0', HEX[byte >> 4], HEX[byte & 15]};
  if (byte == '"' || byte == '\\') {
    escape[1] = (char)byte;
    put(out, escape, 2);
  } else if (byte == '\n') {
    put(out, "\\n", 2);
  } else {
    put(out, escape, 6);
  }
}

void json_text(struct json_out *out, const char *text, size_t length) {
  const uint8_t *bytes = (const uint8_t *)text;
  put(out, "\"", 1);
  for (size_t i = 0; i < length;) {
    if (bytes[i] < 0x20 || bytes[i] == '"' || bytes[i] == '\\') {
      put_escaped(out, bytes[i++]);
      continue;
    }
    size_t step = utf8_length(bytes + i, length - i);
    if (step == 0) put(out, "\xef\xbf\xbd", 3);
    else put(out, text + i, step);
    i += step ? step : 1;
  }
  put(out, "\"", 1);
}

void json_number(struct json_out *out, uint64_t value) {
  char digits[20];
  size_t count = 0;
  do {
    digits[sizeof digits - ++count] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  put(out, digits + sizeof digits - count, count);
}

void json_comma(struct json_out *out) {
  char last = out->length > 0 ? out->bytes[out->length - 1] : '{';
  if (last != '{' && last != '[') json_raw(out, ",");
}

void json_name(struct json_out *out, const char *name) {
  json_comma(out);
  json_text(out, name, strlen(name));
  json_raw(out, ":");
}

void json_field_text(struct json_out *out, const char *name, const char *value) {
  json_name(out, name);
  json_text(out, value, strlen(value));
}

void json_field_number(struct json_out *out, const char *name, uint64_t value) {
  json_name(out, name);
  json_number(out, value);
}

void json_field_bool(struct json_out *out, const char *name, bool value) {
  json_name(out, name);
  json_raw(out, value ? "true" : "false");
}

void json_field_maybe(struct json_out *out, const char *name, int64_t value) {
  json_name(out, name);
  if (value < 0 || value > EXACT_MAX) json_raw(out, "null");
  else json_number(out, (uint64_t)value);
}
