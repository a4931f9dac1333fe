/**
 * Turn within a workspace: what the workers were answered, as it passed their lines. It is judged where the workspace
 * had one slot: of several that were woken together and all have room, any may come first.
 */
import type { FaultProxy } from "../lab/proxy.js";
import { monotonicMs } from "../lab/proxy-rules.js";
import { bulkArguments } from "../lab/resp-frames.js";

interface Admit {
  /** `<workspace>.<task>`. */
  readonly name: string;
  readonly workspace: string;
  readonly asked_ms: number;
  readonly answered_ms: number;
  readonly answer: string;
  /** Of `parked`. */
  readonly scope: string;
  /** Of `granted`. */
  readonly attempt: string;
  readonly delivery: string;
}

export interface Turns {
  watch(line: FaultProxy): void;
  /** The slots that a workspace may have from now on; null while that is being changed. */
  setSlots(workspace: string, slots: number | null): void;
  /** Tasks that were granted while an older one of their workspace had its turn before them. */
  overtakers(accepted_us: ReadonlyMap<string, number>): string[];
}

const ARGS_BEFORE = 3;

export function createTurns(): Turns {
  const admits: Admit[] = [];
  const limits: { readonly workspace: string; readonly slots: number | null; readonly at_ms: number }[] = [];

  function hadOneSlot(workspace: string, from_ms: number, to_ms: number): boolean {
    const known = limits.filter((limit) => limit.workspace === workspace && limit.at_ms <= to_ms);
    const last = known.at(-1);
    return last !== undefined && last.slots === 1 && last.at_ms < from_ms;
  }

  function overtakenBy(older: Admit, next_ms: number, accepted_us: ReadonlyMap<string, number>): Admit | undefined {
    const since = accepted_us.get(older.name) ?? 0;
    return admits.find(
      ({ name, workspace, answer, attempt, asked_ms, answered_ms }) =>
        workspace === older.workspace &&
        answer === "granted" &&
        attempt === "1" &&
        (accepted_us.get(name) ?? 0) > since &&
        asked_ms > older.answered_ms &&
        answered_ms < next_ms,
    );
  }

  return {
    setSlots: (workspace, slots) => void limits.push({ workspace, slots, at_ms: monotonicMs() }),
    watch: (line) => {
      line.observe(({ phase, detail, exchange, bytes, at_ms }) => {
        if (phase !== "reply" || detail !== "task-admit" || exchange === null || bytes === null) return;
        const [workspace = "", task = "", , , delivery = ""] = exchange.args.slice(ARGS_BEFORE);
        const [answer = "", second = "", , fourth = ""] = bulkArguments(bytes, 4, 64) ?? [];
        const times = { asked_ms: exchange.at_ms, answered_ms: at_ms };
        admits.push({
          name: `${workspace}.${task}`,
          workspace,
          answer,
          scope: second,
          attempt: fourth,
          delivery,
          ...times,
        });
      });
    },
    overtakers: (accepted_us) => {
      const parked = admits.filter(({ answer, scope }) => answer === "parked" && scope === "workspace");
      return parked.flatMap((older) => {
        const next = admits.find(({ name, asked_ms }) => name === older.name && asked_ms > older.answered_ms);
        // Whatever else it is answered then, its turn ended at a moment that no line showed.
        const waited = next?.delivery === older.delivery && (next.answer === "granted" || next.answer === "parked");
        const judged = waited && hadOneSlot(older.workspace, older.answered_ms, next.asked_ms);
        const younger = judged ? overtakenBy(older, next.asked_ms, accepted_us) : undefined;
        return younger === undefined ? [] : [`${younger.name} was granted while ${older.name} waited before it`];
      });
    },
  };
}
