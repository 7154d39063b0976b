import { create } from '../../lambda/subjects/chunks/assemble-handler.ts';
import { inMemory, type SubjectQueue, withRoom } from '../background/subject-queue.ts';

/** They go on from their records, and the schedule asks for those that nothing moves. */
export const chunks = {
  ...inMemory,
  port: 'chunkQueue',
  create: withRoom(create),
} as const satisfies SubjectQueue;
