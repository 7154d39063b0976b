import * as z from 'zod';
import { oidPattern } from '../../rules/names.ts';
import { defaultSettings } from '../../rules/settings.ts';
import { listOf } from '../json.ts';

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

export const batchResponseSchema = z
  .object({
    transfer: z.literal('basic'),
    objects: z.array(batchObjectSchema).meta({ description: 'Each oid of the request once.' }),
    hash_algo: z.literal('sha256'),
  })
  .meta({ id: 'BatchResponse' });

export const verifyRequestSchema = z
  .object({ oid: z.string().regex(oidPattern), size: z.int().min(0) })
  .meta({ id: 'VerifyRequest' });

export const verifyResponseSchema = z.object({}).meta({ id: 'VerifyResponse' });

export const lfsErrorSchema = z
  .object({
    message: z.string().meta({ description: 'All that git-lfs prints.' }),
    request_id: z.string(),
  })
  .meta({ id: 'LfsError', description: 'An error of the LFS API.' });

/** An answer for one object. A client waits for ever for an oid that it does not find echoed. */
export type WireObject = Readonly<z.output<typeof batchObjectSchema>>;
export type WireAction = z.output<typeof actionSchema>;
