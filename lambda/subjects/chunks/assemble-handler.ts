import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import { consumerOf, shortPause } from '../../core/rules/jobs.ts';
import { failureText, isOutage } from '../../frame/failures/failures.ts';
import { type AssembleDeps, assembleUpload } from './assemble.ts';
import { type ChunkMessage, chunkMessage } from './messages.ts';
import { proveChunk } from './prove.ts';
import type { ChunkedUpload } from './rules/upload.ts';
import { tidyUpload } from './tidy.ts';

type StepDeps = AssembleDeps & Pick<CoreDeps, 'log'> & FunctionPorts;

const namesOf = (message: ChunkMessage) => {
  const { tenant, repo, oid, upload, step } = message;
  return { tenant, repo, oid, upload, step, ...(step === 'prove' && { chunk: message.chunk }) };
};

/** Does what is to be done for chunked uploads. */
export const create = (deps: StepDeps) =>
  consumerOf(deps, {
    schema: chunkMessage,
    // For the copies that are under way then, and to complete.
    reserveMs: 120_000,
    pause: shortPause,
    step: async (message, { deadlineMs }) => {
      const beganAtMs = deps.clock.nowMs();
      const outcome = await doStep(deps, message, deadlineMs);
      const durationMs = deps.clock.nowMs() - beganAtMs;
      deps.log.info('chunked upload step', { ...namesOf(message), outcome, durationMs });
      return 'done';
    },
    failed: async (message, { error, receiveCount }) => {
      deps.log.warn('chunked upload step failed', { ...namesOf(message), receiveCount, error });
      const failure = failureText(error);
      // The client gets it, once nothing has moved for a minute.
      const noted = (own: ChunkedUpload) => (own.failure === failure ? undefined : { ...own, failure });
      if (!isOutage(error)) await deps.chunkedUploads.change(message, noted).catch(() => undefined);
    },
  });

function doStep(deps: StepDeps, message: ChunkMessage, deadlineMs: number): Promise<string> {
  switch (message.step) {
    case 'prove':
      return proveChunk(deps, { path: message, ...message });
    case 'assemble':
      return assembleUpload(deps, { path: message, deadlineMs });
    case 'tidy':
      return tidyUpload(deps, message);
  }
}
