import * as z from 'zod';
import { oidPattern } from '../../core/rules/names.ts';
import { defaultSettings } from '../../core/rules/settings.ts';
import { lenientObject, listOf } from '../../frame/contract/json.ts';

/**
 * What is asked in the LFS API (git-lfs docs/api/batch.md), apart from what is answered: functions load this alone. A wrong object is answered beside the others, and some
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
const size = z.number().meta({ type: 'integer', minimum: 0, maximum: defaultSettings.chunkedBytesMax });

/** git-lfs names three or so. */
const transfersMax = 100;

export const batchRequestSchema = lenientObject({
  operation: word.meta({ enum: ['upload', 'download'] }),
  transfers: listOf(word, { min: 0, max: transfersMax, rule: `the maximum is ${transfersMax}` })
    .optional()
    .meta({
      anyOf: [{ maxItems: 0 }, { contains: { const: 'basic' } }],
      description:
        'Must be empty or contain "basic". Default: basic. "lfs-quota" offers to upload large files in chunks.',
    }),
  ref: z.unknown().optional().describe('Accepted and ignored.'),
  objects: listOf(z.object({ oid, size }), {
    min: 0,
    max: defaultSettings.batchObjectsMax,
    rule: `the maximum is ${defaultSettings.batchObjectsMax} per request`,
  }).meta({ minItems: 1 }),
  hash_algo: word.optional().meta({ enum: ['sha256'] }),
}).meta({ id: 'BatchRequest' });

export const verifyRequestSchema = z
  .object({ oid: z.string().regex(oidPattern), size: z.int().min(0) })
  .meta({ id: 'VerifyRequest' });
