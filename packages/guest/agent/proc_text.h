#ifndef HOLDFAST_PROC_TEXT_H
#define HOLDFAST_PROC_TEXT_H

#include <stddef.h>
#include <sys/types.h>

/* Reads the start of a small kernel file into `text` and closes it with NUL. Length, or -1 where it cannot be read. */
ssize_t proc_text(const char *path, char *text, size_t capacity);
/* What follows "Name:" and blanks in a text of lines such as /proc/self/status, up to the line's end. */
size_t proc_field(const char *text, const char *name, char *value, size_t capacity);

#endif
