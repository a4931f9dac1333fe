import type { TaskView } from "@holdfast/contract";
import type { Console } from "./console.js";

/** A line on the terminal that tells why a task waits; silent where standard error is no terminal. */
export interface WaitingLine {
  /** Takes the line away for good. */
  clear(): void;
}

const FRAMES = ["|", "/", "-", "\\"];
const FRAME_MS = 125;
const FRAMES_PER_LOOK = 8;
const QUIET: WaitingLine = { clear: () => undefined };

const textOf = (view: TaskView | null): string => view?.waiting?.message ?? "waiting to start";

/** `look` asks for the task's state once a second; where it fails the last reason stays. */
export function startWaitingLine(console: Console, look: () => Promise<TaskView | null>): WaitingLine {
  if (!console.interactive) return QUIET;
  let text = textOf(null);
  let ticks = 0;
  let cleared = false;
  const timer = setInterval(() => {
    if (ticks % FRAMES_PER_LOOK === 0) {
      look().then(
        (view) => {
          text = textOf(view);
        },
        () => undefined,
      );
    }
    console.status(`${FRAMES[ticks % FRAMES.length]} ${text}`);
    ticks += 1;
  }, FRAME_MS);
  return {
    clear: () => {
      clearInterval(timer);
      if (!cleared) console.status("");
      cleared = true;
    },
  };
}
