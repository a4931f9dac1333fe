/* The proofs that have a file of their own; `amount` means something to each, or nothing. */
#ifndef HOLDFAST_PROVER_H
#define HOLDFAST_PROVER_H

int prove_network(long unused);
int prove_syscalls(long unused);

#endif
