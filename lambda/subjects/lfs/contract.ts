import * as z from 'zod';
import { chunkedTransfer } from '../../core/ledger/rules/upload-way.ts';
import type { Contract } from '../../frame/contract/contract.ts';
import { batchRequestSchema, verifyRequestSchema } from './lfs-request.ts';

const actionSchema = z
  .object({
    href: z.string(),
    header: z.record(z.string(), z.string()).optional().describe('Send these unchanged.'),
    expires_in: z.int().min(0).optional().describe('Seconds.'),
  })
  .meta({ id: 'BatchAction' });

const batchObjectSchema = z
  .object({
    oid: z.string(),
    size: z.number(),
    authenticated: z.literal(true).optional(),
    actions: z
      .record(z.string(), actionSchema)
      .optional()
      .describe('upload and maybe verify, or download. Without actions, the object is already stored.'),
    error: z.object({ code: z.int(), message: z.string() }).optional(),
  })
  .meta({ id: 'BatchObject' });

const batchResponseSchema = z
  .object({
    transfer: z
      .enum(['basic', chunkedTransfer])
      .describe('lfs-quota: some uploads go in chunks. The others are a PUT each, as with basic.'),
    objects: z.array(batchObjectSchema).describe('One per object of the request, in its order.'),
    hash_algo: z.literal('sha256'),
  })
  .meta({ id: 'BatchResponse' });

const verifyResponseSchema = z.object({}).meta({ id: 'VerifyResponse' });

/** An answer for one object. A client waits for ever for an oid that it does not find echoed. */
export type WireObject = Readonly<z.output<typeof batchObjectSchema>>;
export type WireAction = z.output<typeof actionSchema>;
export type WireBatch = z.input<typeof batchResponseSchema>;

const exampleOid = '4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8';

export const batchContract = {
  'POST /{tenant}/{repo}/info/lfs/objects/batch': {
    id: 'batch',
    summary: 'Request uploads or downloads',
    description:
      'The Git LFS Batch API with the basic transfer. A new object gets a signed PUT for exactly its bytes; the last one, and each of 8 MiB or more, also gets a verify action. A stored object gets no actions. An object above the limit gets error 507. Uploads need the write scope. Downloads from a public repo need no token.',
    access: 'download',
    body: {
      schema: batchRequestSchema,
      example: { operation: 'upload', transfers: ['basic'], objects: [{ oid: exampleOid, size: 12_345 }] },
    },
    answers: {
      200: {
        description: 'One result per object, which can be an error.',
        schema: batchResponseSchema,
        example: {
          transfer: 'basic',
          objects: [
            {
              oid: exampleOid,
              size: 12_345,
              authenticated: true,
              actions: {
                upload: {
                  // In full: a bundle that uses the schemas alone can't drop a text that is put together.
                  href:
                    'https://bucket.s3.eu-central-1.amazonaws.com/acme/game/' +
                    '4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8?X-Amz-Signature=…',
                  header: { 'x-amz-checksum-sha256': 'RmWl6kI8JxPUNrXuUFk6lkDgAYwVULWgAC90GQ1srqg=' },
                  expires_in: 1799,
                },
                verify: {
                  href: 'https://lfs.example.com/acme/game.git/info/lfs/verify',
                  header: { 'X-Lfs-Verify-Token': 'lfsv_…' },
                  expires_in: 1799,
                },
              },
            },
          ],
          hash_algo: 'sha256',
        },
      },
    },
    lfsErrors: {
      403: 'A read-only token requests uploads, or a token was rejected several times within a minute.',
      409: "hash_algo isn't sha256.",
      422: 'The body is invalid, or has no objects.',
      509: 'The monthly download limit, or the public one, is reached. The message contains the reset date.',
      429: "The upload is near the limit and usage is being checked, or the user's git host limits requests. Retry after Retry-After seconds.",
    },
  },
} as const satisfies Contract;

export const verifyContract = {
  'POST /{tenant}/{repo}/info/lfs/verify': {
    id: 'verify',
    summary: 'Report that an upload is complete',
    description: "git-lfs calls it with the token of the verify action. Usage doesn't depend on it.",
    access: 'verify',
    body: { schema: verifyRequestSchema, example: { oid: exampleOid, size: 12_345 } },
    answers: { 200: { description: 'The object is stored.', schema: verifyResponseSchema, example: {} } },
    lfsErrors: {
      400: 'The body isn\'t {"oid", "size"}, or two Authorization headers differ.',
      409: 'The object is stored with another size.',
      // git-lfs would take it for a success.
      422: null,
      // It asks no git host.
      429: null,
    },
  },
} as const satisfies Contract;
