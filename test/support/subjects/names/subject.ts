import { expect } from 'vitest';
import { sha256Hex } from '../../../../lambda/core/rules/hash.ts';
import { formatBytes } from '../../../../lambda/core/rules/sizes.ts';
import { listPages } from '../../../../lambda/core/store/rules/store.ts';
import { stored } from '../../../../lambda/core/table/stored-names.ts';
import { signNames } from '../../../../lambda/subjects/names/names.ts';
import { createDynamoDbNames } from '../../../../lambda/subjects/names/names-store.ts';
import {
  namedReposMax,
  namesKey,
  namesOfTenantBytesMax,
} from '../../../../lambda/subjects/names/rules/mark.ts';
import { namesBytesMax } from '../../../../lambda/subjects/names/rules/names-file.ts';
import { repo, type TestedSubject, tenant, unsent } from '../../subject.ts';

const ofNames = { bytes: 1, sha256: '', untilMs: 0 };

const noNames = { names: [], sum: { objectCount: 0, bytes: 0 }, branch: null, commit: null };
const inNoCommit = {
  oid: unsent,
  sizeBytes: 1,
  path: null,
  inUseBy: null,
  commit: null,
  committedAt: null,
};

export const names = {
  fill: {
    names: ({ names }, sinceMs) => names.put({ tenant, mark: { repo, ...ofNames, sinceMs } }),
  },
  limits: {
    'A tenant': {
      'Repos with names': namedReposMax,
      'Names of all repos': formatBytes(namesOfTenantBytesMax),
      'Names of a repo': formatBytes(namesBytesMax),
    },
  },
  kept: [
    {
      what: 'that a repo had names, a day after it ended',
      by: ['lambda/frame/access/repo-mark-store.ts end'],
      async write({ table, client, tenant, atMs, second, day }) {
        const names = createDynamoDbNames(table);
        const mark = { ...ofNames, sinceMs: 1 };
        await names.put({ tenant, mark: { repo: 'app', ...mark } });
        client.on('GetItem').resolves({ Item: stored({ repo: 'app', version: 1, names: mark }) });
        await names.end({ tenant, repo: 'app', atMs });
        const place = { pk: 'NAMES#acme', sk: 'REPO#app' };
        return [
          { ...place, end: null },
          { ...place, end: second + day },
        ];
      },
    },
  ],
  beside: {
    folder: '_names',
    reached: [['management', 'PutObject', '_names/*']],
    keys: [[namesKey({ tenant: 'acme', repo: 'game/art' }), /^_names\/[^/]+\/[0-9a-f]{64}$/]],
  },
  older: {
    read: async ({ names }) => expect(await names.list('clean')).toEqual([]),
    rest: async (deps) => {
      for await (const { keyCount } of listPages(deps.listing, { prefix: '_names/' }))
        expect(keyCount).toBe(0);
    },
  },
  runs: {
    names: [
      { line: 'files search hero --tenant acme --repo game' },
      { line: 'files search --tenant acme --repo game', answers: [noNames] },
      {
        line: 'files search --tenant acme --repo game --in-use --sort oldest --limit 1 --cursor c1',
        answers: [{ sum: { objectCount: 2, bytes: 9 } }],
      },
      { line: 'files search --tenant acme --repo game --not-in-use --json' },
      { line: 'files search --tenant acme --repo game --in-use --not-in-use' },
      { line: 'files search --tenant acme --repo game', answers: [{ problem: 'names-not-found' }] },
      ...['scheduled', 'deleting', 'gone'].map((state) => ({
        line: 'files search --tenant acme --repo game',
        answers: [{ names: [{ ...inNoCommit, state }] }],
      })),
      { line: 'repo names acme game --for readers' },
      { line: 'repo names acme game --for managers --json', answers: [{ forReaders: false }] },
      { line: 'repo names acme game --for readers --erase' },
    ],
  },
  writer: {
    begin: async () => {},
    stays: namesKey,
    write: async (deps, { tenant, repo }, bytes) => {
      const record = await deps.ledger.readTenant(tenant);
      if (record)
        await signNames(deps, {
          tenant: record,
          repo,
          bytes: bytes.length,
          sha256: sha256Hex(bytes),
          nowMs: deps.clock.nowMs(),
        });
    },
  },
} satisfies TestedSubject;
