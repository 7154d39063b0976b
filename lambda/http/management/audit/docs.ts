import type { OperationDocs } from '../../operation-docs.ts';
import { auditQuery } from './requests.ts';
import { auditPageSchema } from './schemas.ts';

/** Who did what. */
export const auditDocs = {
  'GET /v1/tenants/{tenant}/audit': {
    id: 'listAudit',
    summary: 'Who did what to a tenant, the newest first',
    description:
      'Kept for 400 days, also of a deleted tenant, for the operator. A page may be shorter than asked for, or empty, without ' +
      'being the last.',
    access: 'manager',
    query: auditQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: auditPageSchema,
        example: {
          entries: [
            {
              time: '2026-11-21T05:00:00.123Z',
              requestId: 'Uz0dQi3sFiAEPvg=',
              by: { kind: 'operator', tokenId: null, name: null },
              action: 'tenant.update',
              target: {},
              asked: { limitBytes: 10_737_418_240 },
              outcome: 'done',
              reason: null,
              before: { limitBytes: 5_368_709_120 },
              after: { limitBytes: 10_737_418_240 },
            },
          ],
          nextCursor: null,
        },
      },
    },
    problems: ['tenant-not-found'],
  },
} satisfies OperationDocs;
