import { type Disposition, type Envelope, SHARED_QUEUE } from "@holdfast/queue";
import type { BootState } from "../boot/boot-state.js";
import { admitDelivery } from "./admission.js";
import { plainJob } from "./plain-intake.js";

/** What becomes of one fetched job. */
export async function handleJob(boot: BootState, envelope: Envelope, queue: string): Promise<Disposition> {
  switch (envelope.kind) {
    case "delivery":
      return admitDelivery(boot, envelope.name, envelope.delivery, queue === SHARED_QUEUE ? "shared" : "own");
    case "plain":
      return plainJob(boot, envelope, queue);
    case "malformed":
      return { kind: "reject", message: `INVALID_REQUEST: ${envelope.message}` };
  }
}
