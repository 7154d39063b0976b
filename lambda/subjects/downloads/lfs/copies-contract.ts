import * as z from 'zod';
import type { Contract } from '../../../frame/contract/contract.ts';
import { copiesRequestSchema } from './copies-request.ts';

/** Copies of objects from another server, by its signed URLs. Bodies have the media type of the LFS API. */

const copyStateSchema = z
  .object({
    oid: z.string(),
    size: z.number(),
    state: z
      .enum(['stored', 'queued', 'failed', 'missing'])
      .optional()
      .describe('`failed`: the server stopped trying. Ask again with a new `href`.'),
    reason: z.string().optional().describe('Why it failed, in a word.'),
    error: z
      .object({ code: z.int(), message: z.string() })
      .optional()
      .describe('507: above the limit. 422: not in this way.'),
  })
  .meta({ id: 'CopyState' });

const copiesResponseSchema = z.object({ objects: z.array(copyStateSchema) }).meta({ id: 'CopiesResponse' });

export type WireCopy = z.output<typeof copyStateSchema>;

const exampleOid = '4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8';

export const lfsCopiesContract = {
  'POST /{tenant}/{repo}/info/lfs/objects/copies': {
    id: 'copyObjects',
    summary: 'Copy objects from signed URLs',
    description:
      'The server downloads each object from its `href` and stores it, if the bytes match the oid. Ask again without `href` for the progress. It needs the write scope.',
    access: 'tenant',
    body: {
      schema: copiesRequestSchema,
      example: {
        objects: [
          {
            oid: exampleOid,
            size: 12_345,
            href: 'https://store.example.com/file?signature=0123',
            expires_in: 3600,
          },
        ],
      },
    },
    answers: {
      200: {
        description: 'One state or error per object.',
        schema: copiesResponseSchema,
        example: { objects: [{ oid: exampleOid, size: 12_345, state: 'queued' }] },
      },
    },
    lfsErrors: {
      403: 'The token is read-only.',
      422: 'The body is invalid, or has an object twice.',
      429: "It's near the limit and usage is being checked, or the user's git host limits requests. Retry after Retry-After seconds.",
      501: 'This server copies nothing: the operator enables it with gitHosts.',
    },
  },
} as const satisfies Contract;
