/** Questions to the agent that wait for their one answer. */
import type { AgentFrame } from "./agent-frame.js";

/** The agent would not do what was asked: `errno` such as `EALREADY` for a second assignment. */
export class GuestRefused extends Error {
  readonly errno: string;
  constructor(errno: string, detail: string) {
    super(`the guest agent refused: ${errno} (${detail})`);
    this.name = "GuestRefused";
    this.errno = errno;
  }
}

/** A question the agent did not answer in time; the link itself goes on. */
export class LinkSilent extends Error {
  constructor(question: string, deadline_ms: number) {
    super(`no answer to ${question} within ${deadline_ms} ms`);
    this.name = "LinkSilent";
  }
}

type AnswerKind = "hello" | "assigned" | "pong" | "tree" | "file_done";
export type Answer<K extends AnswerKind = AnswerKind> = Extract<AgentFrame, { readonly kind: K }>;

interface Question {
  readonly expects: AnswerKind;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export class LinkQuestions {
  readonly #open = new Map<number, Question>();

  has(id: number): boolean {
    return this.#open.has(id);
  }

  ask<K extends AnswerKind>(id: number, expects: K): Promise<Answer<K>> {
    const answer = new Promise<Answer<K>>((resolve, reject) => {
      this.#open.set(id, { expects, resolve: (frame) => resolve(frame as Answer<K>), reject });
    });
    /** Who asked may have stopped waiting; a late rejection is no crash. */
    answer.catch(() => {});
    return answer;
  }

  /** False where nobody asked for this. */
  answer(frame: Answer): boolean {
    const question = this.#open.get(frame.id);
    if (question?.expects !== frame.kind) return false;
    this.#open.delete(frame.id);
    question.resolve(frame);
    return true;
  }

  /** False where nobody asked. */
  refuse(id: number, error: Error): boolean {
    const question = this.#open.get(id);
    this.#open.delete(id);
    question?.reject(error);
    return question !== undefined;
  }

  refuseAll(error: Error): void {
    for (const id of [...this.#open.keys()]) this.refuse(id, error);
  }
}

/** The answer, or LinkSilent after `deadline_ms`. */
export async function within<T>(answer: Promise<T>, question: string, deadline_ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LinkSilent(question, deadline_ms)), deadline_ms);
  });
  try {
    return await Promise.race([answer, silence]);
  } finally {
    clearTimeout(timer);
  }
}
