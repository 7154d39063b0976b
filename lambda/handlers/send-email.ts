import type { SQSRecord } from 'aws-lambda';
import { decodeEmailWork, deliverEmail, endEmail } from '../alerts/emails.ts';
import { deployed } from '../aws/deployed.ts';
import { consumeEach, delayRedelivery, redeliveryDelayMs } from '../aws/function.ts';
import { emailDeps } from '../compose.ts';
import type { Deps } from '../deps.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';

type SenderDeps = Pick<Deps, 'emails' | 'mailer' | 'log' | 'invocations'> & {
  readonly redelivery: Redelivery;
  /** Where the console is, without a slash at its end. */
  readonly publicUrl: string;
};

/** The consumer of what is to be e-mailed, and of what SES says of e-mails that came back. */
export function create(deps: SenderDeps) {
  return consumeEach(deps.invocations, (record) => consumeRecord(deps, record));
}

async function consumeRecord(deps: SenderDeps, record: SQSRecord): Promise<boolean> {
  const receiveCount = Math.max(1, Number(record.attributes.ApproximateReceiveCount) || 1);
  const work = decodeEmailWork(record.body);
  if (!work) {
    deps.log.error('unreadable message', { receiveCount });
    return false;
  }
  try {
    if (work.kind === 'send') await deliverEmail(deps, { message: work.message, url: deps.publicUrl });
    else for (const end of work.ends) await endEmail(deps, end);
    return true;
  } catch (error) {
    deps.log.warn('e-mail not sent', { receiveCount, error });
    const { receiptHandle } = record;
    await delayRedelivery(deps, { receiptHandle, delayMs: redeliveryDelayMs(receiveCount) });
    return false;
  }
}

export const handler = await deployed(create, emailDeps);
