/** The consumers of one boot: they fetch while the gate is open, and can be rebuilt without touching what runs. */
import type { Consumer } from "@holdfast/queue";
import type { BootState } from "../boot/boot-state.js";
import type { Source } from "../boot/gate.js";
import { handleJob } from "./handle-job.js";

export interface Intake {
  readonly queue: string;
  readonly source: Source;
  idleMs(): number;
  rebuild(): Promise<void>;
  close(deadline_ms: number): Promise<void>;
}

/** Jobs under way in a consumer that was replaced are answered by it as they end. */
const REPLACED_DEADLINE_MS = 24 * 3_600_000;

export async function openIntake(boot: BootState, queue: string, source: Source): Promise<Intake> {
  async function open(): Promise<Consumer> {
    const consumer = await boot.queue.consume({
      queue,
      boot_id: boot.boot_id,
      handle: (envelope, from) => handleJob(boot, envelope, from),
      onNotice: ({ event, ...fields }) => boot.logger.warn(event, fields),
    });
    boot.gate.attach(consumer, source);
    return consumer;
  }

  let current = await open();
  return {
    queue,
    source,
    idleMs: () => current.idleMs(),
    rebuild: async () => {
      const old = current;
      boot.gate.detach(old);
      void old.close(REPLACED_DEADLINE_MS);
      current = await open();
    },
    close: async (deadline_ms) => {
      boot.gate.detach(current);
      await current.close(deadline_ms);
    },
  };
}
