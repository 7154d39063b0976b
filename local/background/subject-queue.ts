import { setFlagsFromString } from 'node:v8';
import type { Consumer } from '../../lambda/core/rules/jobs.ts';
import type { QueueSpec, TenantMessage } from './pump.ts';

export interface SubjectQueue extends Omit<QueueSpec<TenantMessage>, 'name' | 'kept' | 'dead'> {
  /** By this name functions know it. */
  readonly port: string;
  /** The partition of the table where its jobs are until they are done. Default: they are in memory alone. */
  readonly partition?: string;
  /** Where processes share the table, each does what it was asked for itself: its jobs have secrets. */
  readonly isOwn?: true;
  readonly create: (deps: never) => Consumer;
  /**
   * What it does before anything is delivered, with what an earlier process has not finished.
   *
   * @param isAlone no other process has this data folder: whoever held a lease has died, and nobody need wait for its end.
   */
  readonly resume?: (deps: never, isAlone: boolean) => Promise<void>;
}

/** As a store lists what is due. */
export const ever = { nowMs: Number.MAX_SAFE_INTEGER / 2 };

const attemptsMax = 20;

/** What waits in memory alone. What is sent twice waits once. */
export const inMemory = {
  atOnce: 4,
  waitingMax: 10_000,
  attemptsMax,
  idOf: (message: object) => JSON.stringify(message),
};

/** What is sent on. */
export const sentOn = { atOnce: 4, waitingMax: 2_000, attemptsMax };

/**
 * For what gigabytes pass through. They have V8 mark its small heap several times a second, which takes a third of this process's
 * CPU: with room for twice as much garbage as it keeps, it marks seldom. A server that does no such
 * work keeps its smaller heap. Functions mark theirs at once, `markHeapAtOnce`: here people would wait for it.
 */
export const withRoom =
  <D>(create: (deps: D) => Consumer) =>
  (deps: D): Consumer => {
    const consume = create(deps);
    return (delivery) => {
      setFlagsFromString('--heap-growing-percent=200');
      return consume(delivery);
    };
  };
