import * as z from 'zod';
import { auditActions } from '../access/rules/audit.ts';
import { answer, type Contract } from './contract.ts';
import { cursorPattern, day, decodeCursor, page, pageOf, stringOrNull, time } from './fields.ts';

const auditQuery = pageOf(cursorPattern, decodeCursor).extend({
  from: day('The first day, in UTC. Default: 400 days ago.'),
  to: day('The last day, in UTC. Default: today.'),
  action: z
    .enum(auditActions, 'must be an action such as token.create')
    .optional()
    .describe('Only this action.'),
});

const fields = (description: string) => z.record(z.string(), z.unknown()).nullable().describe(description);

const auditEntrySchema = z
  .object({
    time,
    requestId: z.string().describe('ID of the HTTP request, as in log lines.'),
    by: z
      .object({
        kind: z
          .enum(['operator', 'token', 'identity'])
          .describe('operator: the admin token. identity: a CI job, or a user with a git host token.'),
        tokenId: stringOrNull.describe("For a git host's user, their id, such as github:1234."),
        name: stringOrNull.describe(
          'User or label of the token, subject of the identity, or name of the user, at that time.',
        ),
      })
      .describe('Who did it.'),
    action: z.string().meta({ examples: ['token.create'] }),
    target: z.record(z.string(), z.unknown()).describe('The target within the tenant, such as a repo.'),
    asked: fields('Query and body of the request. Long values are cut.'),
    outcome: z
      .enum(['started', 'succeeded', 'denied', 'failed'])
      .describe(
        'started: the outcome is unknown. succeeded. denied: nothing changed. failed: part of it might have changed.',
      ),
    reason: stringOrNull.describe('The problem code of a denied request.'),
    before: fields('The changed fields, before.'),
    after: fields('… and as it became.'),
  })
  .meta({ id: 'AuditEntry' });

const auditPageSchema = page('AuditPage', { entries: z.array(auditEntrySchema) });

export type AuditEntryBody = z.output<typeof auditEntrySchema>;

export const auditContract = {
  'GET /v1/tenants/{tenant}/audit': {
    id: 'listAudit',
    summary: 'The audit log of a tenant, the newest first',
    description:
      'Entries are kept for 400 days, and the operator can read those of a deleted tenant. A page can be short or empty without being the last.',
    access: 'auditor',
    query: auditQuery,
    answers: {
      200: answer('One page.', auditPageSchema, {
        entries: [
          {
            time: '2026-11-21T05:00:00.123Z',
            requestId: 'Uz0dQi3sFiAEPvg=',
            by: { kind: 'operator', tokenId: null, name: null },
            action: 'tenant.update',
            target: {},
            asked: { limitBytes: 10_737_418_240 },
            outcome: 'succeeded',
            reason: null,
            before: { limitBytes: 5_368_709_120 },
            after: { limitBytes: 10_737_418_240 },
          },
        ],
        nextCursor: null,
      }),
    },
  },
} as const satisfies Contract;
