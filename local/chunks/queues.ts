import { create } from '../../lambda/subjects/chunks/assemble-handler.ts';
import { inState } from '../../lambda/subjects/chunks/rules/upload.ts';
import type { ChunkedUploads } from '../../lambda/subjects/chunks/upload-store.ts';
import { ever, inMemory, type SubjectQueue, withRoom } from '../background/subject-queue.ts';

/** Opens what was being assembled. */
export async function resume(
  { chunkedUploads }: { readonly chunkedUploads: Pick<ChunkedUploads, 'listDue' | 'change'> },
  isAlone: boolean,
): Promise<void> {
  if (!isAlone) return;
  for await (const page of chunkedUploads.listDue(ever))
    for (const path of page)
      await chunkedUploads.change(path, (upload) =>
        upload.state === 'assembling' ? inState(upload, 'open', upload.stateAtMs) : undefined,
      );
}

/** They go on from their records, and the schedule asks for those that nothing moves. */
export const chunks = {
  ...inMemory,
  port: 'chunkQueue',
  create: withRoom(create),
  resume,
} as const satisfies SubjectQueue;
