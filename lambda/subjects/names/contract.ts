import * as z from 'zod';
import { oidPattern } from '../../core/rules/names.ts';
import { formatBytes } from '../../core/rules/sizes.ts';
import { answer, type Contract, managed } from '../../frame/contract/contract.ts';
import {
  bytes,
  count,
  cursorOf,
  flag,
  page,
  pageOf,
  stringOrNull,
  time,
  timeOrNull,
} from '../../frame/contract/fields.ts';
import { oid } from '../../frame/contract/objects.ts';
import { namesBytesMax } from './rules/names-file.ts';
import { nameOrders } from './rules/search.ts';

const searchCharactersMax = 200;
const searchRule = `must have 1 to ${searchCharactersMax} characters`;

/** In hex: an oid, `#`, and a whole number. */
const cursorPattern = /^c(?:3[0-9]|6[1-6]){64}23(?:2d)?(?:3[0-9]){1,16}$/;
const cursorFields = cursorOf('oid', 'value');
export const nameCursor = {
  encode: cursorFields.encode,
  decode: (cursor: string) => {
    const { oid: last, value } = cursorFields.decode(cursor);
    return { oid: last, value: Number(value) };
  },
};

const nameQuery = pageOf(cursorPattern, nameCursor.decode).extend({
  search: z
    .string()
    .min(1, searchRule)
    .max(searchCharactersMax, searchRule)
    .optional()
    .describe('Only paths that contain this, or oids that start with it. Case is ignored.'),
  inUse: flag().describe('true: only what a branch or tag has. false: only what none has.'),
  sort: z
    .enum(nameOrders, `must be one of: ${nameOrders.join(', ')}`)
    .optional()
    .meta({ default: 'size', description: 'size: the largest first. newest, oldest: by commit.' }),
});

const nameSchema = z.object({
  oid: z.string().regex(oidPattern),
  sizeBytes: bytes,
  path: stringOrNull.describe('The path it had last. null: no commit has it.'),
  inUseBy: stringOrNull.describe('A branch or tag that has it. null: none.'),
  commit: stringOrNull.describe('The last commit that put it there.'),
  committedAt: timeOrNull,
  state: z
    .enum(['stored', 'scheduled', 'deleting', 'gone'])
    .describe("Now. scheduled: it's going to be deleted, and can be kept. gone: deleted since then."),
  dueAt: time.optional().describe('When its deletion starts.'),
});

const namePageSchema = page('NamePage', {
  names: z.array(nameSchema),
  sum: z.object({ objectCount: count, bytes }).describe('Of all that match, when the names were made.'),
  madeAt: time.describe('When the names were made.'),
  branch: stringOrNull.describe("The clone's default branch."),
  commit: stringOrNull.describe('Where it was.'),
});

const namesSchema = z
  .object({
    forReaders: z.boolean().describe('true: every token of the repo sees them. false: only managers.'),
    since: time,
  })
  .meta({ id: 'Names' });

export type NamePageBody = z.output<typeof namePageSchema>;

const name = {
  oid,
  sizeBytes: 2_450_000,
  path: 'Art/hero.psd',
  inUseBy: 'main',
  commit: '91c0e2f4b8d7a6c5e4f3021b9a8d7c6e5f403122',
  committedAt: '2026-11-20T08:00:00Z',
  state: 'stored',
};

const noNames = ['repo-not-found', 'names-not-found'] as const;

export const nameContract = {
  'GET /v1/tenants/{tenant}/repos/{repo}/names': {
    id: 'listNames',
    summary: 'Objects of a repo by path',
    description:
      'As a clone named them, sent by `lfs-quota repo names`. Newer objects are missing. Requires a token with the manage scope, unless readers can see them.',
    access: 'reader',
    query: nameQuery,
    answers: {
      200: answer('One page.', namePageSchema, {
        names: [name],
        sum: { objectCount: 1, bytes: 2_450_000 },
        madeAt: '2026-11-21T05:00:00Z',
        branch: 'main',
        commit: name.commit,
        nextCursor: null,
      }),
    },
    problems: [...noNames, 'scope-too-small'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/names': {
    id: 'signNames',
    summary: 'A URL to send names to',
    description:
      "Names are a gzip of up to 64 MiB: `lfs-quota` makes and sends it. They replace the repo's last ones. The URL signs length and SHA-256.",
    access: 'collector',
    action: 'names.send',
    onlyOpen: true,
    body: {
      schema: z
        .strictObject({
          bytes: z
            .int()
            .min(1)
            .max(namesBytesMax, `must be at most ${namesBytesMax}: ${formatBytes(namesBytesMax)}`)
            .describe('Of the file.'),
          sha256: z.string().regex(oidPattern, 'must be 64 lower-case hex digits').describe('Of the file.'),
        })
        .meta({ id: 'NamesFile' }),
      example: { bytes: 6_400_000, sha256: oid },
    },
    answers: {
      200: answer(
        'The URL.',
        z
          .object({
            url: z.string().describe('PUT the file there, with these headers.'),
            headers: z.record(z.string(), z.string()),
          })
          .meta({ id: 'SignedNames' }),
        { url: 'https://…', headers: { 'x-amz-checksum-sha256': '47DEQpj8HBSa…' } },
      ),
    },
    problems: ['repo-not-found', 'wrong-kind', 'names-full'],
  },
  'PATCH /v1/tenants/{tenant}/repos/{repo}/names': {
    id: 'changeNames',
    summary: 'Set who sees the names of a repo',
    ...managed('names.change'),
    body: {
      schema: z.strictObject({ forReaders: z.boolean() }).meta({ id: 'NamesChange' }),
      example: { forReaders: true },
    },
    answers: { 200: answer('It is set.', namesSchema, { forReaders: true, since: '2026-11-21T05:00:00Z' }) },
    problems: [...noNames],
  },
} as const satisfies Contract;
