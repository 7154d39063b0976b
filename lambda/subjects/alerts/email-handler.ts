import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import { consumerOf, longPause } from '../../core/rules/jobs.ts';
import type { NetPorts } from '../../frame/net/ports.ts';
import { deliverEmail, emailWork, endEmail } from './emails.ts';
import type { AlertPorts } from './ports.ts';

type SenderDeps = Pick<CoreDeps, 'clock' | 'log'> &
  Pick<AlertPorts, 'emails'> &
  Pick<NetPorts, 'mailer'> &
  FunctionPorts & {
    /** Where the console is, without a slash at its end. */
    readonly publicUrl: string;
  };

/** Sends what is to be e-mailed, and ends what came back. */
export const create = (deps: SenderDeps) =>
  consumerOf(deps, {
    schema: emailWork,
    pause: longPause,
    step: async (work) => {
      if (work.kind === 'send') await deliverEmail(deps, { message: work.message, url: deps.publicUrl });
      else for (const end of work.ends) await endEmail(deps, end);
      return 'done';
    },
    failed: (_, { error, receiveCount }) => deps.log.warn('e-mail not sent', { receiveCount, error }),
  });
