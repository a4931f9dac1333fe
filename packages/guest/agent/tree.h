#ifndef HOLDFAST_TREE_H
#define HOLDFAST_TREE_H

#include "channel.h"
#include "replies.h"

#define TREE_ASKERS_MAX 8

/*
 * Kills every process of the sandbox but the agent, again and again, until none is left or ten seconds have passed.
 * It works from inside the loop, so the link goes on meanwhile, and needs no new process.
 */
struct tree {
  bool active;
  uint64_t started_ms;
  struct tree_receipt receipt;
  uint32_t askers[TREE_ASKERS_MAX];
  int asker_count;
};

void tree_begin(struct tree *tree, uint64_t now_ms);
/* True once, when it is done: the receipt is complete. `childless` reaps and tells whether no child is left. */
bool tree_step(struct tree *tree, bool (*childless)(void *), void *context);
/* False where too many wait for an answer. */
bool tree_ask(struct tree *tree, uint32_t id, uint64_t now_ms);
void tree_answer(struct tree *tree, struct channel *channel);

#endif
