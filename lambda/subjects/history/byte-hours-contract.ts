import * as z from 'zod';
import { answer, type Contract } from '../../frame/contract/contract.ts';
import { bytes, cursorPattern, page, pageOf, text, time } from '../../frame/contract/fields.ts';
import { usageDaysMax } from './rules/byte-hours.ts';

const hourRule = 'must be the start of an hour (UTC), such as 2026-11-28T07:00:00Z';

const hour = (description: string) =>
  z.iso
    .datetime({ error: hourRule, abort: true })
    .max(20, hourRule)
    .refine((value) => value.endsWith(':00:00Z'), hourRule)
    .transform((value) => Date.parse(value))
    .meta({ examples: ['2026-11-28T07:00:00Z'], description });

/** Of a whole number: so large that JSON's would be rounded. */
const wholeNumber = /^-?(?:0|[1-9]\d{0,23})$/;

/** Corrections of an hour. */
const correctionsMax = 20;

const usageSchema = z
  .object({
    id: z
      .string()
      .describe('The same id is the same record: send it as your idempotency key.')
      .meta({ examples: ['acme:2026-11-28T07Z'] }),
    tenant: z.string(),
    hour: time.describe('Its start. Of a correction: the hour it corrects.'),
    byteSeconds: z
      .string()
      .regex(wholeNumber)
      .describe('A whole number as text, as it can exceed 2^53. Divide by 3,600 for byte-hours.'),
    peakBytes: bytes.optional().describe('The most that a scan found stored.'),
    storedBytes: bytes.optional().describe('At the end of the hour.'),
    reason: z.string().optional().describe('Only of a correction.'),
    at: time.optional().describe('Only of a correction: when it was made.'),
  })
  .meta({ id: 'UsageRecord' });

export type UsageBody = z.output<typeof usageSchema>;
/** In the order of a CSV file's columns. */
export const usageFields = usageSchema.keyof().options;

const correctionBody = z
  .strictObject({
    hour: hour('The hour to correct. It must be final.'),
    byteSeconds: z
      .string()
      .regex(/^-?[1-9]\d{0,23}$/, 'must be a whole number as text, such as "-7200000", and not 0')
      .describe('Added to it. Negative: it was too much.'),
    reason: text('Why, for your bills.').unwrap(),
    number: z
      .int()
      .min(1)
      .max(correctionsMax)
      .default(1)
      .describe('Of the corrections of this hour: 2 for another one.'),
  })
  .meta({ id: 'Correction' });

const correction = {
  id: 'acme:2026-11-28T07Z:c1',
  tenant: 'acme',
  hour: '2026-11-28T07:00:00Z',
  byteSeconds: '-7200000',
  reason: 'Outage of November 28',
  at: '2026-12-01T09:12:33Z',
};

export const byteHoursContract = {
  'GET /v1/usage': {
    id: 'listUsage',
    summary: 'Byte-seconds of all tenants by hour, for billing',
    description: `By tenant, then by time. An hour is final 2 hours after its end: only then is it here, and it never changes. A correction is a record of its own, in the hour that it's made. Hours before the first scan have 0. A deleted tenant has none. Up to ${usageDaysMax} days back.`,
    access: 'admin',
    query: pageOf(cursorPattern, (cursor) => cursor).extend({
      from: hour('The first hour. Default: the last final one.').optional(),
      to: hour('The end of the last hour, exclusive. Default: all final ones.').optional(),
      format: z
        .enum(['json', 'jsonl', 'csv'], 'must be json, jsonl or csv')
        .optional()
        .describe('jsonl, csv: the records alone. The header `Link` has the next page.'),
    }),
    answers: {
      200: {
        ...answer('One page.', page('UsagePage', { usage: z.array(usageSchema) }), {
          usage: [
            {
              id: 'acme:2026-11-28T07Z',
              tenant: 'acme',
              hour: '2026-11-28T07:00:00Z',
              byteSeconds: '5292000000000',
              peakBytes: 1_470_000_000,
              storedBytes: 1_470_000_000,
            },
          ],
          nextCursor: null,
        }),
        types: ['application/jsonl', 'text/csv'],
        headers: { Link: 'The next page, if there is one.' },
      },
    },
  },
  'POST /v1/tenants/{tenant}/usage/corrections': {
    id: 'correctUsage',
    summary: "Correct a tenant's byte-seconds",
    description: 'The hour stays as it is. You can repeat it: the same correction is made once.',
    access: 'admin',
    onlyOpen: true,
    action: 'usage.correct',
    body: {
      schema: correctionBody,
      example: { hour: '2026-11-28T07:00:00Z', byteSeconds: '-7200000', reason: 'Outage of November 28' },
    },
    answers: {
      200: answer('It was made before.', usageSchema, correction),
      201: answer('It is made.', usageSchema, correction),
    },
    problems: ['correction-exists'],
  },
} as const satisfies Contract;
