import { expect } from 'vitest';
import { formatBytes } from '../../../../lambda/core/rules/sizes.ts';
import { openGc } from '../../../../lambda/subjects/gc/gc.ts';
import { createDynamoDbGcRuns } from '../../../../lambda/subjects/gc/gc-store.ts';
import { newGc, setsBytesMax } from '../../../../lambda/subjects/gc/rules/gc.ts';
import { path, type TestedSubject } from '../../subject.ts';

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
} satisfies TestedSubject;
