import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createDynamoDbLedger } from '../../../../../lambda/core/ledger/ledger.ts';
import { stored } from '../../../../../lambda/core/table/stored-names.ts';
import { createDynamoDbAuditLog } from '../../../../../lambda/frame/access/audit-store.ts';
import { createDynamoDbRepoMarks } from '../../../../../lambda/frame/access/repo-mark-store.ts';
import { createDynamoDbRequestKeys } from '../../../../../lambda/frame/access/request-key-store.ts';
import type { AuditEntry } from '../../../../../lambda/frame/access/rules/audit.ts';
import * as stores from '../../../../../lambda/lists/stores.ts';
import { FakeTable } from '../../../../support/fake-table.ts';
import { type KeptRow, kept, type TestedSubject, type Written } from '../../../../support/subject.ts';
import * as subjects from '../../../../support/subjects.ts';
import { tokenRecord } from '../../../../support/token-record.ts';
import { callersOf } from '../../../syntax.ts';

const client = new FakeTable();
const table = { client, tableName: 'ledger' };
const { tenant, atMs, second, day } = kept;

/** Key and end of each item that was written. */
function written(): Written[] {
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
  client.on('DeleteItem').resolves({});
  client.on('GetItem').resolves({});
  client.on('Query').resolves({});
});

/** Of what is no subject's, and of each. */
const rows: readonly KeptRow[] = [
  ...Object.values<TestedSubject>(subjects).flatMap((of) => of.kept ?? []),
  {
    what: 'which names empty objects take, 90 days after they were due',
    by: ['lambda/core/ledger/emptied-store.ts putEmptied'],
    async write() {
      const emptied = { tenant, repo: 'app', id: '7-x', names: ['a'], dueAtMs: atMs };
      await createDynamoDbLedger(table).putEmptied(emptied);
      return [{ pk: 'TENANT#acme', sk: 'EMPTIED#app#7-x', end: second + 90 * day }];
    },
  },
  {
    what: 'what was decided of a repo, a day after that has ended',
    by: ['lambda/frame/access/repo-mark-store.ts end'],
    async write() {
      const marks = createDynamoDbRepoMarks(table, {
        partition: (of) => `MARKS#${of}`,
        field: 'mark',
        fields: z.object({ sinceMs: z.number() }),
        listedMax: 1,
      });
      client.on('GetItem').resolves({ Item: stored({ repo: 'app', version: 1, mark: { sinceMs: 1 } }) });
      await marks.end({ tenant, repo: 'app', atMs });
      return [{ pk: 'MARKS#acme', sk: 'REPO#app', end: second + day }];
    },
  },
  {
    what: 'what batches named, a day after the watch is over',
    by: ['lambda/core/ledger/watch-store.ts noteSeen'],
    async write() {
      const watch = { id: 'w', openedAtMs: 1, untilMs: atMs };
      const note = { beganMs: 1234.5, prefixes: '' };
      await createDynamoDbLedger(table).noteSeen({ tenant, watch, intentId: 'n', note });
      return [{ pk: 'SEEN#acme#w', sk: '0000000000001234#n', end: second + day }];
    },
  },
  {
    what: 'what a gc run says of each object that is gone, 400 days later',
    by: ['lambda/core/ledger/watch-store.ts noteGone'],
    async write() {
      const oids = Array.from({ length: 33 }, (_, index) => `oid${index}`);
      await createDynamoDbLedger(table).noteGone({ tenant, repo: 'app', oids, atMs });
      const pk = expect.stringMatching(/^GONE#acme#.*app/);
      return oids.map((sk) => ({ pk, sk, end: second + 400 * day }));
    },
  },
  {
    what: 'an entry of the audit, after 400 days',
    by: ['lambda/frame/access/audit-store.ts fields'],
    async write() {
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
      return [item, item];
    },
  },
  {
    what: 'a request key once it may be used again',
    by: ['lambda/frame/access/request-key-store.ts keyFields'],
    async write() {
      const record = { id: 'k', bodySha256: '', seed: '', beganAtMs: 1, expiresAtMs: atMs, isDone: false };
      await createDynamoDbRequestKeys(table).begin(record);
      return [{ pk: 'REQUEST#k', sk: 'REQUEST', end: second }];
    },
  },
  {
    what: 'a token a day after it has expired, and one that does not expire never; a session at once',
    by: ['put', 'sessionFields'].map((name) => `lambda/frame/access/token-store.ts ${name}`),
    async write() {
      const tokens = stores.tokens(table);
      const token = tokenRecord('lfsq_secret', { tenant });
      await tokens.put({ ...token, expiresAtMs: atMs });
      await tokens.put(token);
      const session = { parentId: 'p', sessionId: 's', secretSha256: '', boundTo: '' };
      await tokens.putSession({ ...session, createdAtMs: 1, expiresAtMs: atMs });
      const place = { pk: `TOKEN#${token.tokenId}`, sk: 'TOKEN' };
      return [
        { ...place, end: second + day },
        { ...place, end: null },
        { pk: 'TOKEN#p', sk: 'SESSION#s', end: second },
      ];
    },
  },
  {
    what: 'somebody who signed in when the last invitation of theirs may end',
    by: ['lambda/frame/access/token-store.ts putUser'],
    async write() {
      const hostUser = { id: 'github:1', login: 'ada' };
      const user = tokenRecord('lfsq_secret', { tenant, hostUser, expiresAtMs: atMs });
      await stores.tokens(table).putUser(user);
      return [{ pk: `TOKEN#${user.tokenId}`, sk: 'TOKEN', end: second + 7 * day }];
    },
  },
];

describe('the table may remove by itself', () => {
  it.each(rows)('$what', async ({ write }) => {
    const expected = await write({ ...kept, table, client });
    expect(written()).toEqual(expected);
  });

  it('nothing else: a function that gives an item an end has a row here', () => {
    expect([...new Set(rows.flatMap(({ by }) => by))].sort()).toEqual(
      callersOf('expiring', { below: 'lambda' }),
    );
  });
});
