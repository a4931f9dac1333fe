#include "tree.h"

#include "clock.h"
#include "proc_text.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define KILL_LIMIT_MS 10000

void tree_begin(struct tree *tree, uint64_t now_ms) {
  if (tree->active) return;
  tree->active = true;
  tree->started_ms = now_ms;
  tree->receipt = (struct tree_receipt){0, 0, 0};
}

/* A dead process whose parent lives outside the sandbox can stay listed, but runs no more. */
static bool runs(const char *pid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
  if (proc_text(path, text, sizeof text) <= 0) return false;
  const char *state = strrchr(text, ')');
  return state && state[1] == ' ' && !strchr("ZX", state[2]);
}

static uint64_t count_others(void) {
  uint64_t count = 0;
  DIR *directory = opendir("/proc");
  if (!directory) return 0;
  struct dirent *entry;
  while ((entry = readdir(directory))) {
    if (!isdigit((unsigned char)entry->d_name[0]) || strcmp(entry->d_name, "1") == 0) continue;
    if (runs(entry->d_name)) count++;
  }
  closedir(directory);
  return count;
}

bool tree_step(struct tree *tree, bool (*childless)(void *), void *context) {
  if (!tree->active) return false;
  kill(-1, SIGKILL);
  bool gone = childless(context);
  uint64_t now = boot_ms();
  bool late = now - tree->started_ms >= KILL_LIMIT_MS;
  if (!gone && !late) return false;
  uint64_t others = count_others();
  if (others > 0 && !late) return false;
  tree->receipt.survivors = others;
  tree->receipt.kill_ms = now - tree->started_ms;
  tree->active = false;
  return true;
}

bool tree_ask(struct tree *tree, uint32_t id, uint64_t now_ms) {
  if (tree->asker_count == TREE_ASKERS_MAX) return false;
  tree->askers[tree->asker_count++] = id;
  tree_begin(tree, now_ms);
  return true;
}

void tree_answer(struct tree *tree, struct channel *channel) {
  char text[128];
  for (int i = 0; i < tree->asker_count; i++) {
    struct json_out json = {text, 0, sizeof text, false};
    reply_tree(&json, &tree->receipt);
    channel_control(channel, FRAME_TREE, tree->askers[i], &json);
  }
  tree->asker_count = 0;
}
