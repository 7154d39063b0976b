import * as z from 'zod';
import { nextCursor, time } from '../../../api/contract/fields.ts';

const fields = (description: string) => z.record(z.string(), z.unknown()).nullable().meta({ description });

const auditEntrySchema = z
  .object({
    time,
    requestId: z.string().meta({ description: 'Of the HTTP request. Log lines have it.' }),
    by: z
      .object({
        kind: z.enum(['operator', 'token', 'identity']).meta({
          description:
            'operator: the admin token. identity: for whom a host vouches: a CI job, or a person with their token for it.',
        }),
        tokenId: z.string().nullable().meta({ description: 'Of a person their id, such as github:1234.' }),
        name: z.string().nullable().meta({
          description:
            'User or label of the token, subject of the identity, or name of the person, as they were then.',
        }),
      })
      .meta({ description: 'Who did it.' }),
    action: z.string().meta({ examples: ['token.create'] }),
    target: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What it was done to, besides the tenant, such as a repo.' }),
    asked: fields('Query and body of the request. Long values are cut.'),
    outcome: z.enum(['begun', 'done', 'refused', 'failed']).meta({
      description:
        'begun: nothing tells what became of it. done. refused: nothing was changed. failed: something broke, and part of it ' +
        'may have been done.',
    }),
    reason: z.string().nullable().meta({ description: 'The code of the problem with which it was refused.' }),
    before: fields('What the action changed, as it was.'),
    after: fields('… and as it became.'),
  })
  .meta({ id: 'AuditEntry' });

export const auditPageSchema = z
  .object({ entries: z.array(auditEntrySchema), nextCursor })
  .meta({ id: 'AuditPage' });

export type AuditEntryBody = z.output<typeof auditEntrySchema>;
