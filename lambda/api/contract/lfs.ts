import * as z from 'zod';
import { oidPattern } from '../../rules/names.ts';
import { defaultSettings } from '../../rules/settings.ts';
import { listOf } from '../json.ts';
import type { Contract } from './contract.ts';

/**
 * The wire format of the LFS API (git-lfs docs/api/batch.md). A wrong object is answered beside the others, and some
 * mistakes have a status of their own, so decoding is more lenient than what `meta` tells clients to send.
 */

/** The words of the protocol are short. Something longer refuses the request as a whole. */
const word = z.string().max(1000);
/** What is wrong with an oid is answered beside the others, however long it is. */
const oidCharactersMax = 100_000;
const oid = z
  .string()
  .max(oidCharactersMax)
  .meta({ pattern: oidPattern.source, description: 'SHA-256, 64 lower-case hex digits.' });
const size = z.number().meta({ type: 'integer', minimum: 0, maximum: defaultSettings.objectBytesMax });

/** git-lfs names three or so. */
const transfersMax = 100;

export const batchRequestSchema = z
  .object({
    operation: word.meta({ enum: ['upload', 'download'] }),
    transfers: listOf(word, { min: 0, max: transfersMax, rule: `at most ${transfersMax} are taken` })
      .optional()
      .meta({
        anyOf: [{ maxItems: 0 }, { contains: { const: 'basic' } }],
        description: 'Must be empty or hold "basic". Without it, basic is meant.',
      }),
    ref: z.unknown().optional().meta({ description: 'Accepted and not used.' }),
    objects: listOf(z.object({ oid, size }), {
      min: 0,
      max: defaultSettings.batchObjectsMax,
      rule: `at most ${defaultSettings.batchObjectsMax} are taken at once`,
    }).meta({ minItems: 1 }),
    hash_algo: word.optional().meta({ enum: ['sha256'] }),
  })
  .meta({ id: 'BatchRequest' });

const actionSchema = z
  .object({
    href: z.string(),
    header: z.record(z.string(), z.string()).optional().meta({ description: 'Send these as they are.' }),
    expires_in: z.int().min(0).optional().meta({ description: 'Seconds.' }),
  })
  .meta({ id: 'BatchAction' });

const batchObjectSchema = z
  .object({
    oid: z.string(),
    size: z.number(),
    authenticated: z.literal(true).optional(),
    actions: z.record(z.string(), actionSchema).optional().meta({
      description: 'upload and perhaps verify, or download. Without actions the object is stored already.',
    }),
    error: z.object({ code: z.int(), message: z.string() }).optional(),
  })
  .meta({ id: 'BatchObject' });

const batchResponseSchema = z
  .object({
    transfer: z.literal('basic'),
    objects: z.array(batchObjectSchema).meta({ description: 'Each oid of the request once.' }),
    hash_algo: z.literal('sha256'),
  })
  .meta({ id: 'BatchResponse' });

export const verifyRequestSchema = z
  .object({ oid: z.string().regex(oidPattern), size: z.int().min(0) })
  .meta({ id: 'VerifyRequest' });

const verifyResponseSchema = z.object({}).meta({ id: 'VerifyResponse' });

/** An answer for one object. A client waits for ever for an oid that it does not find echoed. */
export type WireObject = Readonly<z.output<typeof batchObjectSchema>>;
export type WireAction = z.output<typeof actionSchema>;

const exampleOid = '4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8';

/** The LFS API: what git-lfs calls. */
export const lfsContract = {
  'POST /{tenant}/{repo}/info/lfs/objects/batch': {
    id: 'batch',
    summary: 'Ask for uploads or downloads',
    description:
      'The Git LFS Batch API with the basic transfer. An object that may be uploaded gets a presigned PUT for exactly ' +
      'its bytes; the last one, and each of 8 MiB or more, also gets a verify action. One that is stored already gets ' +
      'no actions. One over the limit gets error 507. ' +
      'Uploading needs a token with the scope write. From a public repo anybody can download.',
    access: 'download',
    body: {
      schema: batchRequestSchema,
      example: { operation: 'upload', transfers: ['basic'], objects: [{ oid: exampleOid, size: 12_345 }] },
    },
    answers: {
      200: {
        description: 'One answer for each object, some of which may be errors.',
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
      403: 'A read token asks for uploads, or a token was rejected several times within a minute.',
      409: 'hash_algo is not sha256.',
      422: 'The body does not have the expected shape, or names no objects.',
      509: 'The downloads of this month, or those without a token, are used up. The message says when they begin anew.',
      429:
        'Usage is being recounted and the upload is near the limit, or the git host of a person takes no more questions. ' +
        'Retry-After says when to try again.',
    },
  },
  'POST /{tenant}/{repo}/info/lfs/verify': {
    id: 'verify',
    summary: 'Report that an upload is complete',
    description: 'Called by git-lfs with the token of the verify action. Usage does not depend on it.',
    access: 'verify',
    body: { schema: verifyRequestSchema, example: { oid: exampleOid, size: 12_345 } },
    answers: { 200: { description: 'The object is stored.', schema: verifyResponseSchema, example: {} } },
    lfsErrors: {
      400: 'The body is not {"oid", "size"}.',
      409: 'The object is stored with another size.',
      // git-lfs would take it for a success.
      422: null,
      // It asks no git host.
      429: null,
    },
  },
} as const satisfies Contract;
