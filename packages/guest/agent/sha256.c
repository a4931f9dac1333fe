#include "sha256.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t word, int bits) {
  return word >> bits | word << (32 - bits);
}

static void mix(uint32_t state[8], const uint8_t *block) {
  uint32_t word[64];
  for (int i = 0; i < 16; i++) {
    word[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
              block[4 * i + 3];
  }
  for (int i = 16; i < 64; i++) {
    uint32_t a = word[i - 15], b = word[i - 2];
    word[i] = word[i - 16] + word[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
  }
  uint32_t v[8];
  memcpy(v, state, sizeof v);
  for (int i = 0; i < 64; i++) {
    uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    uint32_t first = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + choice + ROUND[i] + word[i];
    uint32_t second = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + majority;
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += first;
    v[0] = first + second;
  }
  for (int i = 0; i < 8; i++) state[i] += v[i];
}

void sha256_begin(struct sha256 *hash) {
  static const uint32_t START[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, START, sizeof START);
  hash->length = 0;
}

void sha256_add(struct sha256 *hash, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    size_t used = hash->length % 64;
    size_t step = 64 - used < count ? 64 - used : count;
    memcpy(hash->block + used, bytes, step);
    hash->length += step;
    bytes += step;
    count -= step;
    if (used + step == 64) mix(hash->state, hash->block);
  }
}

void sha256_end(struct sha256 *hash, char hex[65]) {
  static const uint8_t PAD[64] = {0x80};
  static const char DIGITS[] = "0123456789abcdef";
  uint64_t bits = hash->length * 8;
  uint8_t tail[8];
  for (int i = 0; i < 8; i++) tail[i] = (uint8_t)(bits >> (56 - 8 * i));
  size_t used = hash->length % 64;
  sha256_add(hash, PAD, used < 56 ? 56 - used : 120 - used);
  sha256_add(hash, tail, sizeof tail);
  for (int i = 0; i < 64; i++) hex[i] = DIGITS[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
  hex[64] = 0;
}

bool sha256_file(const char *path, char hex[65]) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  static uint8_t bytes[65536];
  struct sha256 hash;
  sha256_begin(&hash);
  ssize_t count;
  while ((count = read(fd, bytes, sizeof bytes)) > 0) sha256_add(&hash, bytes, (size_t)count);
  close(fd);
  sha256_end(&hash, hex);
  return count == 0;
}
