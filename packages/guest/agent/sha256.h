#ifndef HOLDFAST_SHA256_H
#define HOLDFAST_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sha256 {
  uint32_t state[8];
  uint64_t length;
  uint8_t block[64];
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const uint8_t *bytes, size_t count);
/* Lower-case hex with a closing NUL. */
void sha256_end(struct sha256 *hash, char hex[65]);
/* False where the file cannot be read whole. */
bool sha256_file(const char *path, char hex[65]);

#endif
