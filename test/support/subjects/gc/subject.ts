import { expect } from 'vitest';
import { allPages } from '../../../../lambda/core/rules/async.ts';
import { sha256Hex } from '../../../../lambda/core/rules/hash.ts';
import { formatBytes } from '../../../../lambda/core/rules/sizes.ts';
import { listPages } from '../../../../lambda/core/store/rules/store.ts';
import { cancelGc, openGc, signReachableSet, startRun } from '../../../../lambda/subjects/gc/gc.ts';
import { createDynamoDbGcRuns } from '../../../../lambda/subjects/gc/gc-store.ts';
import {
  candidatesKey,
  newGc,
  reachableSetKey,
  setsBytesMax,
} from '../../../../lambda/subjects/gc/rules/gc.ts';
import type { Deps } from '../../../../local/deps.ts';
import { path, type TestedSubject } from '../../subject.ts';

/** Of the fixture's tenant. */
async function gcsOf({ ledger, gcRuns }: Pick<Deps, 'ledger' | 'gcRuns'>) {
  const repos = await allPages(ledger.repos('clean'));
  const gcs = await Promise.all(repos.map(({ repo }) => gcRuns.read({ tenant: 'clean', repo })));
  return gcs.flatMap((gc) => gc ?? []);
}

export const gc = {
  fill: {
    gcRuns: async (deps) => expect((await openGc(deps, path)).kind).toBe('open'),
  },
  limits: { 'Exports and garbage collection': { 'Reachable sets of a tenant': formatBytes(setsBytesMax) } },
  kept: [
    {
      what: 'the last gc run of a repo, 90 days after it ended',
      by: ['lambda/subjects/gc/gc-store.ts put'],
      async write({ table, tenant, atMs, second, day }) {
        const runs = createDynamoDbGcRuns(table);
        const running = newGc({ repo: 'app', watch: { id: 'w', openedAtMs: 1, untilMs: atMs } });
        const ended = { ...running, dueAtMs: null, endedAtMs: atMs };
        for (const gc of [running, ended]) await runs.put({ tenant, gc, versionRead: null, writeId: 'w' });
        const place = { pk: 'TENANT#acme', sk: expect.stringMatching(/^CLEANUP#/) };
        return [
          { ...place, end: null },
          { ...place, end: second + 90 * day },
        ];
      },
    },
  ],
  beside: {
    folder: '_gc',
    reached: [
      ['management', 'PutObject', '_gc/*/*/keep-*'],
      ['reconcile', 'PutObject', '_gc/*/*/*/candidates-*'],
    ],
    keys: [
      [reachableSetKey({ tenant: 'acme', repo: 'game/art' }), /^_gc\/[^/]+\/[^/]+\/keep-/],
      [
        candidatesKey({ tenant: 'acme', watchId: 'w' }, { folder: 'f', file: 0 }),
        /^_gc\/[^/]+\/[^/]+\/[^/]+\/candidates-/,
      ],
    ],
  },
  older: {
    read: async (deps) => {
      const gcs = await gcsOf(deps);
      const states = ['selecting', 'done', 'cancelled', 'deleting', 'watching'];
      expect(gcs.map(({ state }) => state)).toEqual(states);
      const swept = gcs.find(({ repo }) => repo === 'swept');
      const of = { tenant: 'clean', watchId: swept?.watch.id ?? '', fromMs: 0 };
      expect(await allPages(deps.ledger.seen(of))).toHaveLength(1);
    },
    rest: async (deps) => {
      const gcs = await gcsOf(deps);
      expect(gcs.map(({ dueAtMs }) => dueAtMs)).toEqual(gcs.map(() => null));
      for await (const { keyCount } of listPages(deps.listing, { prefix: '_gc/' })) expect(keyCount).toBe(0);
    },
  },
  writer: {
    begin: openGc,
    async write(deps, path, bytes) {
      const set = { reachableCount: 1, reachableSha256: sha256Hex(bytes) };
      await signReachableSet(deps, { ...path, ...set });
      await startRun(deps, { ...path, ...set, isDryRun: true, isForced: false, minAgeMs: 0 });
    },
    end: cancelGc,
  },
} satisfies TestedSubject;
