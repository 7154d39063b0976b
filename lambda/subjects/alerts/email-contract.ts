import * as z from 'zod';
import { answer, type Contract, managed } from '../../frame/contract/contract.ts';
import { time, timeOrNull } from '../../frame/contract/fields.ts';
import { emailEnds, emailsMax } from './rules/email.ts';

const addressRule = 'must be an e-mail address';
const address = z
  .string()
  .max(254, addressRule)
  .regex(/^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/, addressRule);

const emailSchema = z
  .object({
    address: z.string(),
    addedAt: time,
    confirmedAt: timeOrNull.describe('null: not confirmed, so it gets no alerts.'),
    ended: z
      .enum(emailEnds)
      .nullable()
      .describe('Why it gets no more alerts. null: it gets them, once confirmed.'),
  })
  .meta({ id: 'Email' });

const emailListSchema = z.object({ emails: z.array(emailSchema) }).meta({ id: 'EmailList' });

const keyed = { key: z.string().max(200) };

export type EmailBody = z.output<typeof emailSchema>;

const email: EmailBody = {
  address: 'ada@example.com',
  addedAt: '2026-11-21T05:00:00Z',
  confirmedAt: '2026-11-21T05:04:00Z',
  ended: null,
};

/** Addresses that a tenant's alerts are e-mailed to. */
export const emailContract = {
  'GET /v1/tenants/{tenant}/emails': {
    id: 'listEmails',
    summary: 'The addresses that get alerts',
    access: 'manager',
    answers: { 200: answer('All of them.', emailListSchema, { emails: [email] }) },
  },
  'POST /v1/tenants/{tenant}/emails': {
    id: 'addEmail',
    summary: 'E-mail alerts to an address',
    description: `The address gets an e-mail with a link, and alerts once its reader confirms it there within 48 hours. A tenant has ${emailsMax} addresses at most. Alerts: 80% and 90% of the limit, the first refused push of a day, tokens that expire within 14 days, and a summary on Monday.`,
    ...managed('email.add'),
    body: {
      schema: z.strictObject({ address }).meta({ id: 'AddEmail' }),
      example: { address: email.address },
    },
    answers: {
      200: answer('It gets alerts already.', emailSchema, email),
      202: answer('The e-mail with the link will be sent.', emailSchema, { ...email, confirmedAt: null }),
    },
    problems: ['emails-off', 'emails-full', 'emails-too-many'],
  },
  'DELETE /v1/tenants/{tenant}/emails': {
    id: 'removeEmail',
    summary: 'Remove an address',
    access: 'manager',
    action: 'email.remove',
    query: z.strictObject({ address }),
    answers: { 204: { description: "It's removed." } },
    problems: ['email-not-found'],
  },
  'POST /v1/emails/confirm': {
    id: 'confirmEmail',
    summary: 'Confirm an address',
    description: 'With the key of the link in the e-mail.',
    access: 'anyone',
    body: { schema: z.strictObject(keyed).meta({ id: 'EmailKey' }), example: { key: 'acme.…' } },
    answers: { 204: { description: 'It gets alerts from now on.' } },
    problems: ['link-not-found'],
  },
  'POST /v1/emails/unsubscribe': {
    id: 'unsubscribeEmail',
    summary: 'End the e-mails to an address',
    description: 'With the key of the link in the e-mail. Mail programs call it, as RFC 8058 says.',
    access: 'anyone',
    query: z.strictObject(keyed),
    answers: { 204: { description: 'It gets no more alerts.' } },
    problems: ['link-not-found', 'invalid-query', 'internal-error', 'storage-unavailable'],
  },
} as const satisfies Contract;
