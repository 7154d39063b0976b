import * as z from 'zod';
import { oidPattern, repoPattern } from '../../core/rules/names.ts';
import { answer, type Contract } from './contract.ts';
import { bytes, decodeCursor, ofRepo, page, pageOf, timeOrNull } from './fields.ts';

/** Of a list of objects: a key below a tenant's path, which leaves room for a tenant of one letter and a slash. */
const objectKeyBytesMax = 1022;

/** What the cursor of a list of objects looks like. */
const objectCursorPattern = new RegExp(`^c(?:[0-9a-f]{2}){1,${objectKeyBytesMax}}$`);

const objectQuery = pageOf(objectCursorPattern, decodeCursor).extend(ofRepo);

const objectPageSchema = page('ObjectPage', {
  objects: z.array(
    z.object({
      repo: z.string().regex(repoPattern),
      oid: z.string().regex(oidPattern).describe('SHA-256 of its bytes, 64 lower-case hex digits.'),
      sizeBytes: bytes,
      storedAt: timeOrNull.describe("When it was last uploaded, by the store's clock. null: unknown."),
    }),
  ),
  files: z
    .array(z.object({ repo: z.string(), name: z.string(), sizeBytes: bytes, storedAt: timeOrNull }))
    .optional()
    .describe('Files of repos of kind files, if there are any.'),
  others: z
    .array(z.object({ repo: z.string(), objectCount: z.int().min(1), sizeBytes: bytes }))
    .describe(
      'Totals of keys that are neither LFS objects nor files, by repo: they count too. The name is empty for keys outside of any repo.',
    ),
});

export type ObjectPageBody = z.output<typeof objectPageSchema>;

export type ObjectBody = ObjectPageBody['objects'][number];

export const oid = '4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8';

export const objectContract = {
  'GET /v1/tenants/{tenant}/objects': {
    id: 'listObjects',
    summary: 'The objects of a tenant',
    description:
      'As the store lists them now, by repo and oid. An object in several repos appears in each. A page can be short or empty without being the last: keys that are neither LFS objects nor files only appear as totals.',
    access: 'reader',
    query: objectQuery,
    answers: {
      200: answer('One page.', objectPageSchema, {
        objects: [{ repo: 'game', oid, sizeBytes: 2_450_000, storedAt: '2026-11-20T08:00:00Z' }],
        others: [],
        nextCursor: null,
      }),
    },
    problems: ['repo-required', 'repo-not-found'],
  },
} as const satisfies Contract;
