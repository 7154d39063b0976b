import * as z from 'zod';
import { nextCursor, time } from '../../../api/contract/fields.ts';

export const tokenSchema = z
  .object({
    tokenId: z.string().meta({ description: 'Names the token in lists. It is no secret.' }),
    scope: z.enum(['read', 'write', 'manage']),
    label: z.string().nullable(),
    user: z.string().nullable().meta({ description: 'Whom it stands for. null: nobody said.' }),
    repos: z.array(z.string()).nullable().meta({ description: 'The repos that it is for. null: all.' }),
    createdAt: time,
    expiresAt: time.nullable().meta({
      description: 'It is worth nothing from then on, and listed for a day more. null: never.',
    }),
    lastUsedAt: time.nullable().meta({ description: 'When it was last used, to the hour. null: not yet.' }),
  })
  .meta({ id: 'Token' });

export const tokenPageSchema = z
  .object({ tokens: z.array(tokenSchema), nextCursor })
  .meta({ id: 'TokenPage' });

export const newTokenSchema = tokenSchema
  .extend({
    tenant: z.string(),
    token: z.string().meta({ description: 'The secret. It is answered this once and stored nowhere.' }),
  })
  .meta({ id: 'NewToken' });

export type TokenBody = z.output<typeof tokenSchema>;
