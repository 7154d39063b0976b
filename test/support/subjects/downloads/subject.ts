import { expect } from 'vitest';
import { stored } from '../../../../lambda/core/table/stored-names.ts';
import { createDynamoDbCopies } from '../../../../lambda/subjects/downloads/copy-store.ts';
import {
  createDynamoDbDownloads,
  downloadsKeptMs,
} from '../../../../lambda/subjects/downloads/download-store.ts';
import { createDynamoDbPublicReads } from '../../../../lambda/subjects/downloads/public-read-store.ts';
import { publicReposMax } from '../../../../lambda/subjects/downloads/rules/public-reads.ts';
import { minute, path, repo, type TestedSubject, tenant, unsent } from '../../subject.ts';

export const downloads = {
  fill: {
    copies: ({ copies }, nowMs) => copies.claim({ ...path, oid: unsent, nowMs, untilMs: nowMs + minute }),
    downloads: async ({ downloads }, atMs) => {
      const offer = { ...path, writeId: 'w', bytes: 1, objects: 1, tokenId: 't', atMs };
      await downloads.meter({ ...offer, limitBytes: null });
      await downloads.addToDay(offer);
      await downloads.meterPublic({ ...offer, limitBytes: 100 });
    },
    publicReads: ({ publicReads }, sinceMs) =>
      publicReads.put({ tenant, mark: { repo, monthlyLimitBytes: 1, sinceMs } }),
  },
  limits: {
    'A tenant': { 'Public repos': publicReposMax },
    'What is kept': { Downloads: `${downloadsKeptMs / 86_400_000} days` },
  },
  kept: [
    {
      what: 'what was offered, after 400 days',
      by: ['meter', 'addToDay', 'meterPublic', 'correctPublic'].map(
        (name) => `lambda/subjects/downloads/download-store.ts ${name}`,
      ),
      async write({ table, tenant, atMs, second, day }) {
        const downloads = createDynamoDbDownloads(table);
        const offer = { tenant, repo: 'app', tokenId: 't', atMs, bytes: 1, objects: 1, writeId: 'w0000000' };
        const end = second + 400 * day;
        await downloads.meter({ ...offer, limitBytes: null });
        await downloads.addToDay(offer);
        await downloads.meterPublic({ ...offer, limitBytes: null });
        await downloads.correctPublic(offer);
        const ofRepo = { pk: 'PUBLIC#acme', sk: 'MONTH#2026-11#app', end };
        return [
          { pk: 'DOWNLOADS#acme', sk: 'MONTH#2026-11', end },
          { pk: 'DOWNLOADS#acme', sk: 'DAY#2026-11-22#app#t', end },
          ofRepo,
          ofRepo,
        ];
      },
    },
    {
      what: 'who copies an object, and why that failed, a day after its URLs have expired',
      by: ['lambda/subjects/downloads/copy-store.ts claim'],
      async write({ table, tenant, oid, atMs, second, day }) {
        await createDynamoDbCopies(table).claim({ tenant, repo: 'app', oid, nowMs: 1, untilMs: atMs });
        return [{ pk: 'COPY#acme#app', sk: oid, end: second + day }];
      },
    },
    {
      what: 'that a repo was public, a day after that has ended',
      by: ['lambda/frame/access/repo-mark-store.ts end'],
      async write({ table, client, tenant, atMs, second, day }) {
        const reads = createDynamoDbPublicReads(table);
        const publicRead = { monthlyLimitBytes: null, sinceMs: 1 };
        await reads.put({ tenant, mark: { repo: 'app', ...publicRead } });
        client.on('GetItem').resolves({ Item: stored({ repo: 'app', version: 1, publicRead }) });
        await reads.end({ tenant, repo: 'app', atMs });
        const place = { pk: 'PUBLIC#acme', sk: 'REPO#app' };
        return [
          { ...place, end: null },
          { ...place, end: second + day },
        ];
      },
    },
  ],
  counted: {
    downloads: {
      meter: 'meterDownloads',
      addToDay: 'addDownloadsToDay',
      meterPublic: 'meterPublicDownloads',
      correctPublic: 'correctPublicDownloads',
      publicMonth: 'monthOfPublicDownloads',
      month: 'monthOfDownloads',
      months: 'monthsOfDownloads',
      days: 'daysOfDownloads',
    },
    publicReads: {
      find: 'findPublicRepo',
      list: 'listPublicRepos',
      put: 'putPublicRepo',
      end: 'endPublicRepo',
    },
  },
  older: {
    read: async ({ downloads, publicReads }) => {
      const path = { tenant: 'acme', repo: 'game' };
      expect(await publicReads.find(path)).toMatchObject({ monthlyLimitBytes: 500_000 });
      expect(await downloads.month({ tenant: 'acme', month: '2026-11' })).toMatchObject({ bytes: 300 });
      expect(await downloads.publicMonth({ ...path, month: '2026-11' })).toMatchObject({ objects: 1 });
    },
  },
} satisfies TestedSubject;
