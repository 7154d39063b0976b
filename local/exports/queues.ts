import { create } from '../../lambda/subjects/exports/handler.ts';
import { inMemory, type SubjectQueue, withRoom } from '../background/subject-queue.ts';

/** Steps of exports that run at a time. */
export const exportWorkers = 2;

/** They go on from their records. As many wait as the exports under way have steps. */
export const exports = {
  ...inMemory,
  atOnce: exportWorkers,
  waitingMax: Number.MAX_SAFE_INTEGER,
  port: 'exportQueue',
  create: withRoom(create),
} as const satisfies SubjectQueue;
