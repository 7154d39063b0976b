import type { NetPorts } from '../../../lambda/frame/net/ports.ts';
import { createCopier } from '../../../lambda/subjects/downloads/lfs/copier.ts';
import { create } from '../../../lambda/subjects/downloads/lfs/copy-handler.ts';
import { inMemory, type SubjectQueue, withRoom } from '../../background/subject-queue.ts';
import { optionsFor } from '../../outgoing.ts';

type Copying = Omit<Parameters<typeof create>[0], 'copier'> & Pick<NetPorts, 'allowsLoopback'>;

/** A stop loses what waits: whoever pulls its object again asks for it again. */
export const copies = {
  ...inMemory,
  port: 'copyQueue',
  isOwn: true,
  create: withRoom(({ allowsLoopback, ...deps }: Copying) =>
    create({
      ...deps,
      copier: { copy: (input) => createCopier(optionsFor(input.from, allowsLoopback)).copy(input) },
    }),
  ),
} as const satisfies SubjectQueue;
