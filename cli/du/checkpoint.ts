import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseJson } from '../../lambda/domain/json.ts';

/** The file of `du --resume`: what a scan has counted, and what is left of it. */

const format = 'lfs-quota du';
/** Raised when an older version could not read, or would misread, what is written. */
const version = 1;

const count = z.number().int().nonnegative();
const bytes = z.string().regex(/^\d+$/);
const folder = z.tuple([z.string(), count, bytes]).readonly();

const checkpointSchema = z.strictObject({
  /** What is counted. A scan that differs in any of these cannot be continued. */
  scan: z.strictObject({
    bucket: z.string(),
    prefix: z.string(),
    /** null: AWS. */
    endpoint: z.string().nullable(),
    order: z.enum(['parallel', 'fixed-sixteen', 'sequential']),
    folders: z.strictObject({ depth: count, top: count }).nullable(),
  }),
  beganMs: count,
  savedMs: count,
  /** Processes that have counted, the one that wrote this included. */
  runs: count,
  /** The time that they took, without that between them. */
  activeMs: z.number().nonnegative(),
  objects: count,
  bytes,
  /** LISTs that were sent, by processes that were killed only up to what they saved. */
  requests: count,
  /** Of those, answers with a status of 500 and above, which AWS does not charge. */
  failed: count,
  throttled: count,
  /** null: all is counted. */
  rest: z
    .strictObject({
      ranges: z.array(
        z.strictObject({
          after: z.string().nullable(),
          last: z.string().nullable(),
          folder: z.string().exactOptional(),
          isUneven: z.literal(true).exactOptional(),
          continuationToken: z.string().exactOptional(),
        }),
      ),
      objectsExpected: z.number().nonnegative().nullable(),
    })
    .nullable(),
  folders: z
    .strictObject({
      completeCount: count,
      largest: z.array(folder).readonly(),
      open: z.array(folder).readonly(),
    })
    .nullable(),
});

export type Checkpoint = z.output<typeof checkpointSchema>;
export type ScanIdentity = Checkpoint['scan'];

export type ReadCheckpoint =
  | { readonly kind: 'read'; readonly checkpoint: Checkpoint }
  /** It is not of this program, or of a version that it does not know. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'newer'; readonly version: number }
  /** It was of this program, but is not as it was written. */
  | { readonly kind: 'damaged' };

export function writeCheckpoint(checkpoint: Checkpoint): string {
  const body = JSON.stringify(checkpoint);
  return `{"format":"${format}","version":${version},"sha256":"${sha256(body)}","checkpoint":${body}}\n`;
}

export function readCheckpoint(text: string): ReadCheckpoint {
  if (!text.startsWith(`{"format":"${format}",`)) return { kind: 'foreign' };
  const [, written = '', digest, body = ''] =
    /^\{"format":"[^"]*","version":(\d+)(?:,"sha256":"(\w+)","checkpoint":(.*)\}\n$)?/s.exec(text) ?? [];
  if (Number(written) > version) return { kind: 'newer', version: Number(written) };
  if (digest === undefined || sha256(body) !== digest) return { kind: 'damaged' };
  const parsed = checkpointSchema.safeParse(parseJson(body));
  return parsed.success ? { kind: 'read', checkpoint: parsed.data } : { kind: 'damaged' };
}

/** What of two scans is not the same, for a person; undefined if one can continue the other. */
export function differenceOf(saved: ScanIdentity, wanted: ScanIdentity): string | undefined {
  const [savedWords, wantedWords] = [wordsOf(saved), wordsOf(wanted)];
  for (const [index, words] of savedWords.entries())
    if (words !== wantedWords[index]) return `${words}, not ${wantedWords[index]}`;
  return undefined;
}

function wordsOf({ bucket, prefix, endpoint, order, folders }: ScanIdentity): string[] {
  return [
    `of s3://${bucket}/${prefix === '' ? '' : `${prefix}*`}`,
    `at ${endpoint ?? 'AWS'}`,
    order === 'parallel' ? 'without --strategy sequential or fixed-sixteen' : `with --strategy ${order}`,
    folders === null
      ? 'without --by-prefix'
      : `with --by-prefix --depth ${folders.depth} --top ${folders.top}`,
  ];
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
