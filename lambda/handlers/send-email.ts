import { decodeEmailWork, deliverEmail, endEmail } from '../alerts/emails.ts';
import { deployed } from '../aws/deployed.ts';
import { consumeEach, redeliveryDelayMs } from '../aws/function.ts';
import { emailDeps } from '../compositions/send-email.ts';
import type { Deps } from '../deps.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';

type SenderDeps = Pick<Deps, 'emails' | 'mailer' | 'log' | 'invocations'> & {
  readonly redelivery: Redelivery;
  /** Where the console is, without a slash at its end. */
  readonly publicUrl: string;
};

/** The consumer of what is to be e-mailed, and of what SES says of e-mails that came back. */
export function create(deps: SenderDeps) {
  return consumeEach(deps, decodeEmailWork, async (work, { receiveCount, again }) => {
    try {
      if (work.kind === 'send') await deliverEmail(deps, { message: work.message, url: deps.publicUrl });
      else for (const end of work.ends) await endEmail(deps, end);
      return true;
    } catch (error) {
      deps.log.warn('e-mail not sent', { receiveCount, error });
      return again(redeliveryDelayMs(receiveCount));
    }
  });
}

export const handler = await deployed(create, emailDeps);
