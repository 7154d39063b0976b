import type { Mishap, PortCall } from './mishaps.ts';
import type { Action, PushAction, Scenario, UploadPlan } from './scenario.ts';
import type { Stage } from './stage.ts';

/** A scenario written by hand, for what random ones rarely meet. Each seed gives it other latencies and faults. */
export interface Story extends Omit<Scenario, 'seed'> {
  /** What its stage is like in every run. The seed decides on the rest. */
  readonly stage?: Partial<Stage>;
}

/** The stage of a seed, as a story has it. */
export function stageFor(story: Story | undefined, stage: Stage): Stage {
  const { settings, ...others } = story?.stage ?? {};
  return { ...stage, ...others, settings: { ...stage.settings, ...settings } };
}

export const minute = 60_000;
export const oids = Array.from({ length: 10 }, (_, oid) => oid);

/** Parts of a stage in which nobody trickles, and no repo has a limit. */
export const plainStage = { hasTricklers: false, repoLimits: [] } satisfies Partial<Stage>;

/** Somebody pushes one object. */
export const pushed = (object: number, plan: UploadPlan, afterMs: number): PushAction => ({
  kind: 'push',
  tenant: 0,
  afterMs,
  repo: 0,
  objects: [{ oid: object, lie: false }],
  plan,
  verify: false,
});

/** Usage is counted at once, whatever the queue is like. */
export const scanned = (afterMs: number): Action => ({ kind: 'read', tenant: 0, afterMs, refresh: true });

export const reconciled = (afterMs: number): Action => ({
  kind: 'reconcile',
  tenant: 0,
  afterMs,
  full: false,
});

/** Something goes wrong at the next call. */
export const mishap = (at: PortCall, what: Mishap, afterMs = 0): Action => ({
  kind: 'mishap',
  tenant: 0,
  afterMs,
  at,
  what,
});
