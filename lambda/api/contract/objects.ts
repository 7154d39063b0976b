import * as z from 'zod';
import { oidPattern, repoPattern } from '../../rules/names.ts';
import type { Contract } from './contract.ts';
import { bytes, decodeCursor, nextCursor, ofRepo, pageOf, time } from './fields.ts';

/** Of a list of objects: a key below a tenant's path, which leaves room for a tenant of one letter and a slash. */
const objectKeyBytesMax = 1022;

/** What the cursor of a list of objects looks like. */
const objectCursorPattern = new RegExp(`^c(?:[0-9a-f]{2}){1,${objectKeyBytesMax}}$`);

const objectQuery = pageOf(objectCursorPattern, decodeCursor).extend(ofRepo);

const objectPageSchema = z
  .object({
    objects: z.array(
      z.object({
        repo: z.string().regex(repoPattern),
        oid: z
          .string()
          .regex(oidPattern)
          .meta({ description: 'SHA-256 of its bytes, 64 lower-case hex digits.' }),
        sizeBytes: bytes,
        storedAt: time
          .nullable()
          .meta({ description: 'When it was put last, as the store says. null: it does not.' }),
      }),
    ),
    others: z.array(z.object({ repo: z.string(), objectCount: z.int().min(1), sizeBytes: bytes })).meta({
      description:
        'Keys of the page that git-lfs does not make, summed up by repo, as they count. Those that are in no repo have ' +
        'an empty name.',
    }),
    nextCursor,
  })
  .meta({ id: 'ObjectPage' });

type ObjectPageBody = z.output<typeof objectPageSchema>;

export type ObjectBody = ObjectPageBody['objects'][number];

export const oid = '4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8';

/** What lies in the store. */
export const objectContract = {
  'GET /v1/tenants/{tenant}/objects': {
    id: 'listObjects',
    summary: 'What a tenant stores, object by object',
    description:
      'As the store lists it now, by repo and oid: also what was not counted yet, and what is being deleted. An object ' +
      'that several repos have is there for each of them. A page may be shorter than asked for, or empty, without being ' +
      'the last: of keys that git-lfs does not make there are only sums.',
    access: 'reader',
    query: objectQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: objectPageSchema,
        example: {
          objects: [{ repo: 'game', oid, sizeBytes: 2_450_000, storedAt: '2026-11-20T08:00:00Z' }],
          others: [],
          nextCursor: null,
        },
      },
    },
    problems: ['repo-required', 'repo-not-found'],
  },
} as const satisfies Contract;
