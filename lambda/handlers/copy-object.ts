import type { Context, SQSRecord } from 'aws-lambda';
import { deployed } from '../aws/deployed.ts';
import { consumeEach, delayRedelivery } from '../aws/function.ts';
import { copyDeps } from '../compose.ts';
import type { Deps } from '../deps.ts';
import { copyObject, decodeCopyMessage } from '../downloads/copies.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';

/** Time kept back from the function's limit. */
const reserveMs = 10_000;
/** From an attempt that failed to the next. */
const retryMs = 30_000;

type CopyDeps = Pick<Deps, 'copier' | 'clock' | 'log' | 'invocations'> & { readonly redelivery: Redelivery };

/** The consumer of copies of what a git host has. */
export function create(deps: CopyDeps) {
  return consumeEach(deps.invocations, (record, context) => consumeRecord(deps, record, context));
}

async function consumeRecord(deps: CopyDeps, record: SQSRecord, context: Context): Promise<boolean> {
  const attempt = Math.max(1, Number(record.attributes.ApproximateReceiveCount) || 1);
  const message = decodeCopyMessage(record.body);
  if (!message) {
    deps.log.error('unreadable message', { receiveCount: attempt });
    return false;
  }
  const stop = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - reserveMs));
  if (await copyObject(deps, { message, attempt, stop })) return true;
  await delayRedelivery(deps, { receiptHandle: record.receiptHandle, delayMs: retryMs });
  return false;
}

export const handler = await deployed(create, copyDeps);
