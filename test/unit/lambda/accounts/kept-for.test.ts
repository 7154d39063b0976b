import { beforeEach, describe, expect, it } from 'vitest';
import { createDynamoDbAuditLog } from '../../../../lambda/accounts/audit-store.ts';
import {
  createDynamoDbKeptGrants,
  createDynamoDbLinkedRepos,
  createDynamoDbPublicReads,
} from '../../../../lambda/accounts/repo-mark-store.ts';
import type { AuditEntry } from '../../../../lambda/accounts/rules/audit.ts';
import {
  createDynamoDbRequestKeys,
  createDynamoDbTokenStore,
} from '../../../../lambda/accounts/token-store.ts';
import { createDynamoDbDownloads } from '../../../../lambda/downloads/download-store.ts';
import { createDynamoDbHistory } from '../../../../lambda/history/history-store.ts';
import { createDynamoDbLedger } from '../../../../lambda/ledger/ledger.ts';
import { stored } from '../../../../lambda/table/stored-names.ts';
import { tokenRecord } from '../../../support/token-record.ts';
import { FakeTable } from '../table/fake-table.ts';

const client = new FakeTable();
const table = { client, tableName: 'ledger' };
const tenant = 'acme';
const atMs = Date.parse('2026-11-22T10:00:00.001Z');
/** The table's times are whole seconds, never too early. */
const second = Date.parse('2026-11-22T10:00:01Z') / 1000;
const day = 24 * 60 * 60;

/** Key and end of each item that was written. null: it has no end. */
function written(): { pk: unknown; sk: unknown; end: unknown }[] {
  return client
    .asked()
    .filter((input) => 'Item' in input || 'UpdateExpression' in input)
    .map((input) => {
      const item = (input['Item'] ?? {}) as Record<string, unknown>;
      const { pk, sk } = (input['Key'] ?? item) as Record<string, unknown>;
      const values = (input['ExpressionAttributeValues'] ?? {}) as Record<string, unknown>;
      return { pk, sk, end: item['expiresAt'] ?? values[':expiresAt'] ?? null };
    });
}

beforeEach(() => {
  client.reset();
  client.on('PutItem').resolves({});
  client.on('UpdateItem').resolves({});
  client.on('GetItem').resolves({});
  client.on('Query').resolves({});
});

describe('the table may remove by itself', () => {
  it('what batches named, a day after the watch is over', async () => {
    const watch = { id: 'w', openedAtMs: 1, untilMs: atMs };
    const note = { beganMs: 1234.5, prefixes: '' };
    await createDynamoDbLedger(table).noteSeen({ tenant, watch, intentId: 'n', note });
    expect(written()).toEqual([{ pk: 'SEEN#acme#w', sk: '0000000000001234#n', end: second + day }]);
  });

  it('what a gc run says of each object that is gone, 90 days later', async () => {
    const oids = Array.from({ length: 33 }, (_, index) => `oid${index}`);
    await createDynamoDbLedger(table).noteGone({ tenant, repo: 'app', oids, atMs });
    expect(written()).toEqual(
      oids.map((oid) => ({ pk: expect.stringMatching(/^GONE#acme#.*app/), sk: oid, end: second + 90 * day })),
    );
  });

  it('a day or a repo of the history, after as many days as are kept', async () => {
    const history = createDynamoDbHistory(table);
    const counts = { tenant, atMs, storedBytes: 1, objectCount: 1, limitBytes: null };
    await history.note({ ...counts, epoch: 1, highestBytes: 1, highestUsedBytes: 1 });
    const last = {
      atMs,
      repo: 'app',
      user: null,
      files: 1,
      bytes: 1,
      isAtLeast: false,
      shortBytes: 1,
      limit: 'tenant',
    } as const;
    await history.addRefusals({ ...counts, usedBytes: 1, count: 1, last });
    await history.noteWeek({ tenant, repo: 'app', epoch: 1, week: 2970, storedBytes: 1, atMs });
    const ofDay = { pk: 'HISTORY#acme', sk: 'DAY#2026-11-22', end: second + 400 * day };
    expect(written()).toEqual([ofDay, ofDay, { ...ofDay, sk: 'REPO#app' }]);
  });

  it('what was offered, after 400 days', async () => {
    const downloads = createDynamoDbDownloads(table);
    const offer = { tenant, repo: 'app', tokenId: 't', atMs, bytes: 1, objects: 1, writeId: 'w0000000' };
    const end = second + 400 * day;
    await downloads.meter({ ...offer, limitBytes: null });
    await downloads.addToDay(offer);
    await downloads.meterPublic({ ...offer, limitBytes: null });
    expect(written()).toEqual([
      { pk: 'DOWNLOADS#acme', sk: 'MONTH#2026-11', end },
      { pk: 'DOWNLOADS#acme', sk: 'DAY#2026-11-22#app#t', end },
      { pk: 'PUBLIC#acme', sk: 'MONTH#2026-11#app', end },
    ]);
  });

  it('what a repo was linked to, or that it was public, a day after that has ended, and not before', async () => {
    const linked = { host: 'github', name: 'acme/app', linkedId: null, sinceMs: 1 };
    const publicRead = { monthlyLimitBytes: null, sinceMs: 1 };
    const linkedRepos = createDynamoDbLinkedRepos(table);
    const publicReads = createDynamoDbPublicReads(table);
    await linkedRepos.put({ tenant, mark: { repo: 'app', ...linked } });
    await publicReads.put({ tenant, mark: { repo: 'app', ...publicRead } });
    const places = [
      { pk: 'MAPPED#acme', sk: 'REPO#app' },
      { pk: 'PUBLIC#acme', sk: 'REPO#app' },
    ];
    expect(written()).toEqual(places.map((place) => ({ ...place, end: null })));
    client.resetHistory();
    client.on('GetItem').resolves({ Item: stored({ repo: 'app', version: 1, mapped: linked, publicRead }) });
    await linkedRepos.end({ tenant, repo: 'app', atMs });
    await publicReads.end({ tenant, repo: 'app', atMs });
    expect(written()).toEqual(places.map((place) => ({ ...place, end: second + day })));
  });

  it('what a host said of somebody, once it counts no more', async () => {
    const grant = { hostUser: { id: 'github:1', login: 'ada' }, access: 'read' } as const;
    await createDynamoDbKeptGrants(table).keep({ key: 'k', grant, untilMs: atMs });
    expect(written()).toEqual([{ pk: 'GRANT#k', sk: 'GRANT', end: second }]);
  });

  it('an entry of the audit, after 400 days', async () => {
    const audit = createDynamoDbAuditLog(table);
    const entry: AuditEntry = {
      tenant,
      atMs,
      requestId: 'r',
      by: { kind: 'operator', tokenId: null, name: null },
      action: 'tenant.create',
      target: {},
      asked: null,
      outcome: 'started',
      reason: null,
      before: null,
      after: null,
    };
    await audit.begin(entry);
    await audit.finish({ ...entry, outcome: 'succeeded' });
    const item = { pk: 'AUDIT#acme', sk: '2026-11-22T10:00:00.001Z#r', end: second + 400 * day };
    expect(written()).toEqual([item, item]);
  });

  it('a request key once it may be used again', async () => {
    const record = { id: 'k', bodySha256: '', seed: '', beganAtMs: 1, expiresAtMs: atMs, isDone: false };
    await createDynamoDbRequestKeys(table).begin(record);
    expect(written()).toEqual([{ pk: 'REQUEST#k', sk: 'REQUEST', end: second }]);
  });

  it('a token a day after it has expired, and one that does not expire never; a session at once', async () => {
    const tokens = createDynamoDbTokenStore(table);
    const token = tokenRecord('lfsq_secret', { tenant });
    await tokens.put({ ...token, expiresAtMs: atMs });
    await tokens.put(token);
    const session = { parentId: 'p', sessionId: 's', secretSha256: '', boundTo: '' };
    await tokens.putSession({ ...session, createdAtMs: 1, expiresAtMs: atMs });
    const place = { pk: `TOKEN#${token.tokenId}`, sk: 'TOKEN' };
    expect(written()).toEqual([
      { ...place, end: second + day },
      { ...place, end: null },
      { pk: 'TOKEN#p', sk: 'SESSION#s', end: second },
    ]);
  });
});
