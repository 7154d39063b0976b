import * as z from 'zod';
import type { Contract } from '../../frame/contract/contract.ts';
import { listOf } from '../../frame/contract/json.ts';
import { uploadIdPattern } from './rules/upload.ts';

/** A chunked upload, as `lfs-quota agent` makes it. Bodies have the media type of the LFS API. */
const chunk = z.int().min(0).max(9_999).describe('Its number, from 0.');
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits');

/** Chunks in one request. */
const chunksPerRequestMax = 100;
const upTo = <T extends z.ZodType>(element: T) =>
  listOf(element, { min: 0, max: chunksPerRequestMax, rule: `the maximum is ${chunksPerRequestMax}` });

export const chunksRequestSchema = z
  .object({
    stored: upTo(
      z.object({ chunk, stateBefore: sha256.describe("SHA-256's internal state before the chunk.") }),
    ).describe('Chunks that are uploaded. Report again what `unproven` keeps listing.'),
    wanted: upTo(
      z.object({ chunk, sha256: sha256.describe('Of the chunk alone. It must never change.') }),
    ).describe('Chunks to sign URLs for.'),
  })
  .meta({ id: 'ChunksRequest' });

export type ChunksRequest = z.output<typeof chunksRequestSchema>;

/** Being assembled is `open` too. */
const state = z
  .enum(['open', 'stored', 'wrong', 'ended'])
  .describe(
    "`stored`: the object is complete. `wrong`: the bytes aren't the oid's. `ended`: canceled, or too old. After the last two, push again.",
  );

const runs = z.array(z.tuple([z.int(), z.int()])).describe('Runs: first and last chunk of each.');

const chunkedUploadSchema = z
  .object({
    state,
    size: z.int(),
    chunkBytes: z.int().describe('Of each chunk but the last one.'),
    stored: runs,
    proven: z.object({
      chunks: z.int().describe('Proven without a gap, from chunk 0 on.'),
      sha256State: z
        .string()
        .nullable()
        .describe("SHA-256's internal state after them. null: before the first chunk, and after the last."),
    }),
    unproven: runs,
    failure: z.string().nullable().default(null).describe('Why the server fails at it. null: it never did.'),
  })
  .meta({ id: 'ChunkedUpload' });

const chunksResponseSchema = z
  .object({
    state,
    urls: z.array(
      z.object({
        chunk,
        href: z.string(),
        header: z.record(z.string(), z.string()).describe('Send these unchanged.'),
        expires_in: z.int().min(0).describe('Seconds.'),
      }),
    ),
    unproven: z.int().describe('Chunks of the whole without a proof.'),
  })
  .meta({ id: 'ChunksResponse' });

export type WireChunkedUpload = z.output<typeof chunkedUploadSchema>;
export type WireChunks = z.output<typeof chunksResponseSchema>;

const exampleState = '78b7c57560b3ee3abcbb78fa4ffdd8f1b5b6aef178b7c57560b3ee3abcbb78fa';

const notFound = "The upload doesn't exist, or this token isn't its token.";

/** The routes of chunked uploads. A batch answers with their URL if the client offers the transfer `lfs-quota`. */
export const lfsChunksContract = {
  'GET /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}': {
    variables: { upload: uploadIdPattern },
    id: 'chunkedUpload',
    summary: 'The progress of a chunked upload',
    description: 'Resume from it, on any machine.',
    access: 'chunks',
    answers: {
      200: {
        description: 'What is stored, and what is proven.',
        schema: chunkedUploadSchema,
        example: {
          state: 'open',
          size: 6_442_450_944,
          chunkBytes: 67_108_864,
          stored: [
            [0, 7],
            [9, 9],
          ],
          proven: { chunks: 8, sha256State: exampleState },
          unproven: [[9, 9]],
          failure: null,
        },
      },
    },
    lfsErrors: { 401: null, 404: notFound, 429: null },
  },
  'POST /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}': {
    variables: { upload: uploadIdPattern },
    id: 'uploadChunks',
    summary: 'Report stored chunks, and request URLs',
    description:
      'Each URL takes exactly the bytes of its SHA-256. An upload that isn’t open gets none. Once each chunk is proven, the object is assembled: repeat with empty lists until it is `stored`.',
    access: 'chunks',
    body: {
      schema: chunksRequestSchema,
      example: {
        stored: [{ chunk: 9, stateBefore: exampleState }],
        wanted: [{ chunk: 10, sha256: exampleState }],
      },
    },
    answers: {
      200: {
        description: 'The requested URLs.',
        schema: chunksResponseSchema,
        example: {
          state: 'open',
          urls: [
            {
              chunk: 10,
              href: 'https://bucket.s3.eu-central-1.amazonaws.com/_parts/acme/game/…/00010?X-Amz-Signature=…',
              header: { 'x-amz-checksum-sha256': 'RmWl6kI8JxPUNrXuUFk6lkDgAYwVULWgAC90GQ1srqg=' },
              expires_in: 1799,
            },
          ],
          unproven: 87,
        },
      },
    },
    lfsErrors: {
      401: null,
      403: 'The tenant is suspended.',
      404: notFound,
      422: 'The body is invalid, or a chunk is beyond the object.',
      429: null,
    },
  },
} as const satisfies Contract;
