/** Retention as those see it who ask for it. */
import type { Retention } from "@holdfast/contract";

export interface RetainStep {
  /** Records of ended tasks in the workspaces that were looked at. */
  readonly seen: number;
  readonly removed: number;
  /** What may be removed by now and was not: the step is bounded, or only counts. */
  readonly left: number;
  /** Where the next step goes on; null at the end. */
  readonly cursor: string | null;
}

export interface RetentionStore {
  /** As in effect in this fleet. */
  settings(): Promise<Retention>;
  /** Sets those named, for every program of the fleet, and answers all. Throws where one is out of its bounds. */
  set(named: Partial<Retention>): Promise<Retention>;
  /** One step through the workspaces; with `left` above 0 the same cursor goes on. `dry_run` removes nothing. */
  retain(cursor: string | null, dry_run?: boolean): Promise<RetainStep>;
}
