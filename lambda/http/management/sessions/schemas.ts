import * as z from 'zod';
import { time } from '../../../api/contract/fields.ts';

export const sessionSchema = z
  .object({
    kind: z.enum(['operator', 'tenant']).meta({ description: 'Whose token it is.' }),
    tenant: z.string().nullable().meta({ description: 'null: the operator, who is for all.' }),
    tokenId: z.string().nullable(),
    scope: z.enum(['read', 'write', 'manage']).nullable().meta({ description: 'null: the operator.' }),
    label: z.string().nullable(),
    user: z.string().nullable(),
    repos: z.array(z.string()).nullable().meta({ description: 'The repos that it is for. null: all.' }),
    expiresAt: time.nullable().meta({
      description:
        'When the session ends, or the token if there is no session. null: a token that never expires.',
    }),
  })
  .meta({ id: 'Session' });

export type SessionBody = z.output<typeof sessionSchema>;
