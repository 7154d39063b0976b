import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { json, noContent, type Refusal } from '../../frame/api/http.ts';
import { problem } from '../../frame/api/problems.ts';
import { iso } from '../../frame/contract/fields.ts';
import { firstIssue } from '../../frame/contract/json.ts';
import {
  jsonBody,
  type Operation,
  operationsFor,
  type RouteDeps,
} from '../../frame/management/operations.ts';
import { type EmailBody, emailContract } from './email-contract.ts';
import { addEmail, removeEmail, useEmailKey } from './emails.ts';
import type { AlertPorts } from './ports.ts';
import { type EmailAddress, emailsMax } from './rules/email.ts';

type LinkRoute = Extract<keyof typeof emailContract, `POST /v1/emails/${string}`>;

const {
  'POST /v1/emails/confirm': confirm,
  'POST /v1/emails/unsubscribe': unsubscribe,
  ...ofTenants
} = emailContract;

type Needs = Pick<CoreDeps, 'ids'> & Pick<AlertPorts, 'emails' | 'emailQueue'>;

export const emailOperations = operationsFor<Needs>()(ofTenants, {
  'GET /v1/tenants/{tenant}/emails': async ({ emails }, { tenant: { tenant } }) => {
    const { addresses } = await emails.read(tenant);
    return json(200, { emails: addresses.map(emailBody) });
  },

  'POST /v1/tenants/{tenant}/emails': async (deps, { tenant: { tenant }, body: { address } }) => {
    if (!deps.emailQueue.isOn)
      return problem('emails-off', "This service sends no e-mail, as email.from isn't set. Use a webhook.");
    const outcome = await addEmail(deps, { tenant, address });
    switch (outcome.kind) {
      case 'full':
        return problem('emails-full', `${tenant} has ${emailsMax} addresses, the maximum. Remove one first.`);
      case 'too-many':
        return problem('emails-too-many', 'Too many e-mails with links were sent today. Retry tomorrow.');
      case 'asked':
        return json(202, emailBody(outcome.email));
      case 'confirmed':
        return json(200, emailBody(outcome.email));
    }
  },

  'DELETE /v1/tenants/{tenant}/emails': async (deps, { tenant: { tenant }, query: { address } }) =>
    (await removeEmail(deps, { tenant, address })) === 'removed'
      ? noContent()
      : problem('email-not-found', `${tenant} has no address ${address}.`),
});

/** What the reader of an e-mail does with its links. They have no token: the key in the link is enough for this alone. */
export const emailLinkOperations: Readonly<Record<LinkRoute, Operation<Needs & RouteDeps>>> = {
  'POST /v1/emails/confirm': async (deps, event) => {
    const decoded = jsonBody(deps, event, confirm.body);
    if (!decoded.ok) return decoded.response;
    const isDone = await useEmailKey(deps, { key: decoded.body.key, use: 'confirm' });
    return isDone ? noContent() : linkNotFound();
  },

  'POST /v1/emails/unsubscribe': async (deps, event) => {
    const query = unsubscribe.query.safeParse(event.queryStringParameters ?? {});
    if (!query.success) return problem('invalid-query', `${firstIssue(query.error)}.`);
    const isDone = await useEmailKey(deps, { key: query.data.key, use: 'unsubscribe' });
    return isDone ? noContent() : linkNotFound();
  },
};

function linkNotFound(): Refusal {
  return problem('link-not-found', 'The link is invalid, or too old. Ask an admin of your team for another.');
}

function emailBody({ address, addedAtMs, confirmedAtMs, ended }: EmailAddress): EmailBody {
  return {
    address,
    addedAt: iso(addedAtMs),
    confirmedAt: confirmedAtMs === null ? null : iso(confirmedAtMs),
    ended,
  };
}
