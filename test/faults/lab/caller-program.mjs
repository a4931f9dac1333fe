/**
 * A program of a caller with a client of its own. Each line it prints is JSON.
 * submit: the same request so many times at once. read: events of a task after a cursor, up to one, or dropped at once.
 * late: waits until each task is known, then for a while, and only then reads it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openClient } from "@holdfast/client";

const [, , redis_url, prefix, queue_prefix, order] = process.argv;
const client = await openClient({ redis_url, prefix, queue_prefix });
const say = (value) => console.log(JSON.stringify(value));

async function submit({ request, times }) {
  const tries = Array.from({ length: times }, () =>
    client.submit(request).then(
      (taken) => taken,
      ({ code }) => ({ code }),
    ),
  );
  for (const answer of await Promise.all(tries)) say(answer);
}

async function read({ task_id, after, until, drop }) {
  const leaving = new AbortController();
  const events = client.events(task_id, { after, signal: leaving.signal });
  if (drop) {
    const first = events[Symbol.asyncIterator]().next();
    leaving.abort();
    return first.catch(() => undefined);
  }
  for await (const item of events) {
    say(item);
    if (item.sequence >= until) break;
  }
}

async function known(task_id) {
  const view = await client.status(task_id).catch(({ code }) => code);
  if (typeof view === "object") return;
  await sleep(5);
  await known(task_id);
}

async function late({ tasks }) {
  const readOne = async ({ task_id, delay_ms }) => {
    await known(task_id);
    await sleep(delay_ms);
    const seen = [];
    for await (const item of client.events(task_id)) seen.push(item);
    say({ task_id, seen });
  };
  await Promise.all(tasks.map(readOne));
}

const { op, ...rest } = JSON.parse(order);
await { submit, read, late }[op](rest).catch(({ code, message }) => say({ code, message }));
await client.close();
