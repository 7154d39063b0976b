import { deployed, markHeapAtOnce } from '../aws/deployed.ts';
import { consumeEach } from '../aws/function.ts';
import { assembleUpload } from '../chunks/assemble.ts';
import { type ChunkMessage, decodeChunkMessage } from '../chunks/messages.ts';
import type { ChunkPorts } from '../chunks/ports.ts';
import { proveChunk } from '../chunks/prove.ts';
import type { ChunkedUpload } from '../chunks/rules/upload.ts';
import { tidyUpload } from '../chunks/tidy.ts';
import { assembleDeps } from '../compositions/assemble-upload.ts';
import { failureText, isOutage } from '../frame/failures.ts';
import type { CoreDeps } from '../ledger/core-deps.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';
import type { FunctionPorts } from '../rules/clock-and-log.ts';
import type { FilePorts } from '../store/rules/file-ports.ts';

/** Time kept back from the function's limit, for the copies that are under way then, and to complete. */
const reserveMs = 120_000;

/** What failed comes again after this, later each time, at most after a minute. Somebody waits for it. */
const retryMs = 5_000;
const retryMaxMs = 60_000;

type ConsumerDeps = Pick<CoreDeps, 'ledger' | 'queue' | 'settings' | 'storageClasses' | 'clock' | 'log'> &
  ChunkPorts &
  Pick<FilePorts, 'archives'> &
  FunctionPorts & { readonly redelivery: Redelivery };

/** The consumer of what is to be done for chunked uploads. What fails is delivered again. */
export function create(deps: ConsumerDeps) {
  const { clock, log } = deps;
  return consumeEach(deps, decodeChunkMessage, async (message, { receiveCount, context, again }) => {
    const { tenant, repo, oid, upload, step } = message;
    const named = { tenant, repo, oid, upload, step, ...(step === 'prove' && { chunk: message.chunk }) };
    const beganAtMs = clock.nowMs();
    try {
      const deadlineMs = beganAtMs + context.getRemainingTimeInMillis() - reserveMs;
      const outcome = await doStep(deps, message, deadlineMs);
      log.info('chunked upload step', { ...named, outcome, durationMs: clock.nowMs() - beganAtMs });
      return true;
    } catch (error) {
      log.warn('chunked upload step failed', { ...named, receiveCount, error });
      const failure = failureText(error);
      // The client gets it, once nothing has moved for a minute.
      const noted = (own: ChunkedUpload) => (own.failure === failure ? undefined : { ...own, failure });
      if (!isOutage(error)) await deps.chunkedUploads.change(message, noted).catch(() => undefined);
      return again(Math.min(retryMs * receiveCount, retryMaxMs));
    }
  });
}

function doStep(deps: ConsumerDeps, message: ChunkMessage, deadlineMs: number): Promise<string> {
  switch (message.step) {
    case 'prove':
      return proveChunk(deps, { path: message, ...message });
    case 'assemble':
      return assembleUpload(deps, { path: message, deadlineMs });
    case 'tidy':
      return tidyUpload(deps, message);
  }
}

export const handler = await deployed(create, assembleDeps, markHeapAtOnce);
