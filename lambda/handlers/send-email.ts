import { decodeEmailWork, deliverEmail, endEmail } from '../alerts/emails.ts';
import type { AlertPorts } from '../alerts/ports.ts';
import { deployed } from '../aws/deployed.ts';
import { consumeEach, redeliveryDelayMs } from '../aws/function.ts';
import { emailDeps } from '../compositions/send-email.ts';
import type { CoreDeps } from '../ledger/core-deps.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';
import type { FunctionPorts } from '../rules/clock-and-log.ts';

type SenderDeps = Pick<CoreDeps, 'log'> &
  Pick<AlertPorts, 'emails' | 'mailer'> &
  FunctionPorts & {
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
