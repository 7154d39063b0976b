import * as z from 'zod';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import { consumerOf, longPause } from '../../core/rules/jobs.ts';
import type { AlertPorts } from './ports.ts';
import { alertMessage, deliverToWebhook, usageMessage } from './webhooks.ts';

type SenderDeps = Pick<CoreDeps, 'clock' | 'log'> &
  Pick<AlertPorts, 'webhooks' | 'webhookSender'> &
  FunctionPorts;

/** Sends to webhooks. */
export const create = (deps: SenderDeps) =>
  consumerOf(deps, {
    schema: z.union([usageMessage, alertMessage]),
    // When the table does not answer.
    pause: longPause,
    step: (message, { receiveCount: attempt }) => deliverToWebhook(deps, { message, attempt }),
    failed: ({ tenant }, { error, receiveCount }) =>
      deps.log.warn('webhook not sent', { tenant, receiveCount, error }),
  });
