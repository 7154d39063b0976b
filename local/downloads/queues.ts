import { create } from '../../lambda/subjects/downloads/copy-handler.ts';
import { inMemory, type SubjectQueue, withRoom } from '../background/subject-queue.ts';

/** A stop loses what waits: whoever pulls its object again asks for it again. */
export const copies = {
  ...inMemory,
  port: 'copyQueue',
  isOwn: true,
  create: withRoom(create),
} as const satisfies SubjectQueue;
