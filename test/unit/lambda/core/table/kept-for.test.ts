import { beforeEach, describe, expect, it } from 'vitest';
import { createDynamoDbLedger } from '../../../../../lambda/core/ledger/ledger.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { stored } from '../../../../../lambda/core/table/stored-names.ts';
import { createDynamoDbAuditLog } from '../../../../../lambda/frame/access/audit-store.ts';
import { createDynamoDbRequestKeys } from '../../../../../lambda/frame/access/request-key-store.ts';
import type { AuditEntry } from '../../../../../lambda/frame/access/rules/audit.ts';
import * as stores from '../../../../../lambda/lists/stores.ts';
import { createDynamoDbWebhooks } from '../../../../../lambda/subjects/alerts/webhook-store.ts';
import { newUpload } from '../../../../../lambda/subjects/chunks/rules/upload.ts';
import { createDynamoDbChunkedUploads } from '../../../../../lambda/subjects/chunks/upload-store.ts';
import { createDynamoDbCopies } from '../../../../../lambda/subjects/downloads/copy-store.ts';
import { createDynamoDbDownloads } from '../../../../../lambda/subjects/downloads/download-store.ts';
import { createDynamoDbPublicReads } from '../../../../../lambda/subjects/downloads/public-read-store.ts';
import { createDynamoDbExportJobs } from '../../../../../lambda/subjects/exports/job-store.ts';
import { newExportJob } from '../../../../../lambda/subjects/exports/rules/job.ts';
import { createDynamoDbGcRuns } from '../../../../../lambda/subjects/gc/gc-store.ts';
import { newGc } from '../../../../../lambda/subjects/gc/rules/gc.ts';
import { createDynamoDbHistory } from '../../../../../lambda/subjects/history/history-store.ts';
import { createDynamoDbKeptGrants } from '../../../../../lambda/subjects/hosts/grant-store.ts';
import { createDynamoDbLinkedRepos } from '../../../../../lambda/subjects/hosts/linked-repo-store.ts';
import { createDynamoDbDevices } from '../../../../../lambda/subjects/invitations/device-store.ts';
import { createDynamoDbInvitations } from '../../../../../lambda/subjects/invitations/invitation-store.ts';
import { createDynamoDbUsers } from '../../../../../lambda/subjects/sign-in/user-store.ts';
import { wholeTenant } from '../../../../support/subjects/exports/export-request.ts';
import { tokenRecord } from '../../../../support/token-record.ts';
import { callersOf } from '../../../syntax.ts';
import { FakeTable } from './fake-table.ts';

const client = new FakeTable();
const table = { client, tableName: 'ledger' };
const tenant = 'acme';
const oid = 'f'.repeat(64);
const atMs = Date.parse('2026-11-22T10:00:00.001Z');
/** The table's times are whole seconds, never too early. */
const second = Date.parse('2026-11-22T10:00:01Z') / 1000;
const day = 24 * 60 * 60;

interface Written {
  readonly pk: unknown;
  readonly sk: unknown;
  /** null: the item has no end. */
  readonly end: unknown;
}

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

interface Row {
  readonly what: string;
  /** The functions that write it, each with an end. */
  readonly by: readonly string[];
  /** Lets each of them write. @returns what they must have written. */
  readonly write: () => Promise<readonly Written[]>;
}

const rows: readonly Row[] = [
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
    what: 'what a gc run says of each object that is gone, 90 days later',
    by: ['lambda/core/ledger/watch-store.ts noteGone'],
    async write() {
      const oids = Array.from({ length: 33 }, (_, index) => `oid${index}`);
      await createDynamoDbLedger(table).noteGone({ tenant, repo: 'app', oids, atMs });
      const pk = expect.stringMatching(/^GONE#acme#.*app/);
      return oids.map((sk) => ({ pk, sk, end: second + 90 * day }));
    },
  },
  {
    what: 'the last gc run of a repo, 90 days after it ended',
    by: ['lambda/subjects/gc/gc-store.ts put'],
    async write() {
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
  {
    what: 'a day or a repo of the history, after as many days as are kept',
    by: ['note', 'addRefusals', 'putSample', 'noteWeek'].map(
      (name) => `lambda/subjects/history/history-store.ts ${name}`,
    ),
    async write() {
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
      await history.putSample({ tenant, days: [], atMs });
      await history.noteWeek({ tenant, repo: 'app', epoch: 1, week: 2970, storedBytes: 1, atMs });
      const ofDay = { pk: 'HISTORY#acme', sk: 'DAY#2026-11-22', end: second + 400 * day };
      return [ofDay, ofDay, { ...ofDay, sk: 'SAMPLE' }, { ...ofDay, sk: 'REPO#app' }];
    },
  },
  {
    what: 'what was offered, after 400 days',
    by: ['meter', 'addToDay', 'meterPublic', 'correctPublic'].map(
      (name) => `lambda/subjects/downloads/download-store.ts ${name}`,
    ),
    async write() {
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
    async write() {
      await createDynamoDbCopies(table).claim({ tenant, repo: 'app', oid, nowMs: 1, untilMs: atMs });
      return [{ pk: 'COPY#acme#app', sk: oid, end: second + day }];
    },
  },
  {
    what: 'what is known of a chunk, once the claim of its upload has ended, whatever comes of the upload',
    by: ['fixSha256s', 'putProof'].map((name) => `lambda/subjects/chunks/upload-store.ts ${name}`),
    async write() {
      const uploads = createDynamoDbChunkedUploads(table);
      const id = '0'.repeat(32);
      const of = { tenant, repo: 'app', oid, upload: id, sizeBytes: 1, madeBy: 'ada' };
      const made = newUpload(defaultSettings, { ...of, nowMs: atMs });
      const upload = { ...made, activeUntilMs: atMs + 1, putsUntilMs: atMs + 2 };
      await uploads.fixSha256s(upload, [{ chunk: 3, sha256: '' }]);
      await uploads.putProof(upload, { chunk: 3, before: '', after: '', etag: '', sizeBytes: 1 });
      const place = { pk: `UPLOAD#${id}#${oid}`, end: second + 8 * day };
      return [
        { ...place, sk: '#00003' },
        { ...place, sk: '00003' },
      ];
    },
  },
  {
    what: 'an export a week after its archive is removed',
    by: ['lambda/subjects/exports/job-store.ts create'],
    async write() {
      const jobs = createDynamoDbExportJobs(table);
      const made = newExportJob({
        tenant,
        exportId: 'e',
        request: wholeTenant,
        nowMs: 1,
        limitMs: 2,
      });
      const job = { ...made, expiresAtMs: atMs };
      await jobs.create(job, { placesMax: 1, nowMs: 1 });
      const item = { ...(client.asked().at(-1)?.['Item'] as object), version: 1 };
      client.on('GetItem').resolves({ Item: item });
      await jobs.change(job, (found) => ({ ...found, expiresAtMs: atMs + 60_000 }));
      const record = { pk: 'EXPORTS#acme', sk: 'EXPORT#e', end: second + 7 * day };
      return [{ ...record, sk: 'PLACES', end: null }, record, { ...record, end: record.end + 60 }];
    },
  },
  {
    what: 'what a repo was linked to, or that it was public, a day after that has ended',
    by: ['lambda/frame/access/repo-mark-store.ts end'],
    async write() {
      const mapped = { host: 'github', name: 'acme/app', linkedId: null, sinceMs: 1 };
      const publicRead = { monthlyLimitBytes: null, sinceMs: 1 };
      client.on('GetItem').resolves({ Item: stored({ repo: 'app', version: 1, mapped, publicRead }) });
      await createDynamoDbLinkedRepos(table).end({ tenant, repo: 'app', atMs });
      await createDynamoDbPublicReads(table).end({ tenant, repo: 'app', atMs });
      const end = second + day;
      return ['MAPPED#acme', 'PUBLIC#acme'].map((pk) => ({ pk, sk: 'REPO#app', end }));
    },
  },
  {
    what: 'what a host said of somebody, once it counts no more',
    by: ['lambda/subjects/hosts/grant-store.ts keep'],
    async write() {
      const grant = { hostUser: { id: 'github:1', login: 'ada' }, access: 'read' } as const;
      await createDynamoDbKeptGrants(table).keep({ key: 'k', grant, untilMs: atMs });
      return [{ pk: 'GRANT#k', sk: 'GRANT', end: second }];
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
  {
    what: 'a sign-in that was not finished in time',
    by: ['lambda/subjects/sign-in/user-store.ts loginFields'],
    async write() {
      const login = { loginId: 'l', host: 'github', next: '#', addsOrganization: false, expiresAtMs: atMs };
      await createDynamoDbUsers(table).putLogin(login);
      return [{ pk: 'LOGIN#l', sk: 'LOGIN', end: second }];
    },
  },
  {
    what: 'an invitation once it is over, and one that is accepted ten minutes later',
    by: ['invitationFields', 'accept'].map(
      (name) => `lambda/subjects/invitations/invitation-store.ts ${name}`,
    ),
    async write() {
      const invitations = createDynamoDbInvitations(table);
      const key = { tenant, invitationId: 'i' };
      const record = {
        ...key,
        secretSha256: '',
        scope: 'read',
        repos: null,
        user: null,
        lifetimeMs: 1,
        inviterId: null,
        inviter: null,
        createdAtMs: 1,
        expiresAtMs: atMs,
      } as const;
      await invitations.put(record);
      await invitations.accept({ ...key, accepted: { atMs, keySha256: '', user: null } });
      const place = { pk: 'INVITATION#acme', sk: 'i', end: second };
      return [place, { ...place, end: second + 10 * 60 }];
    },
  },
  {
    what: 'a command line that waits once it is over, and what is counted of them when its time is over',
    by: ['deviceFields', 'count'].map((name) => `lambda/subjects/invitations/device-store.ts ${name}`),
    async write() {
      const devices = createDynamoDbDevices(table);
      const record = { userCodeSha256: 'abcdef', tokenId: 't', secretSha256: '', machine: 'm' };
      await devices.put({ record: { ...record, expiresAtMs: atMs }, nowMs: 1 });
      for (const what of ['tries', 'starts', 'approvals'] as const)
        await devices.count({ what, of: tenant, nowMs: atMs });
      return [
        { pk: 'DEVICE#abcd', sk: 'DEVICE', end: second },
        { pk: 'DEVICE#acme', sk: 'TRIES', end: second + 10 * 60 },
        // A slot of many addresses: as many as there are, no more is stored.
        { pk: expect.stringMatching(/^DEVICE#[0-9a-f]{4}$/), sk: 'STARTS', end: second + 10 * 60 },
        { pk: 'DEVICE#acme', sk: 'APPROVALS', end: second + 90 * day },
      ];
    },
  },
  {
    what: 'that a webhook was tested, once it may be tested again',
    by: ['lambda/subjects/alerts/webhook-store.ts noteTest'],
    async write() {
      client.on('GetItem').resolves({ Item: { pk: 'WEBHOOK#acme', sk: 'WEBHOOK' } });
      await createDynamoDbWebhooks(table).noteTest({ tenant, atMs, restMs: 30_000 });
      return [{ pk: 'WEBHOOK#acme', sk: 'TEST', end: second + 30 }];
    },
  },
];

describe('the table may remove by itself', () => {
  it.each(rows)('$what', async ({ write }) => {
    const expected = await write();
    expect(written()).toEqual(expected);
  });

  it('nothing else: a function that gives an item an end has a row here', () => {
    expect(rows.flatMap(({ by }) => by).sort()).toEqual(callersOf('expiring', { below: 'lambda' }));
  });

  it('nothing of what a repo is linked to, or that it is public, before that has ended', async () => {
    const linked = { host: 'github', name: 'acme/app', linkedId: null, sinceMs: 1 };
    const publicRead = { monthlyLimitBytes: null, sinceMs: 1 };
    await createDynamoDbLinkedRepos(table).put({ tenant, mark: { repo: 'app', ...linked } });
    await createDynamoDbPublicReads(table).put({ tenant, mark: { repo: 'app', ...publicRead } });
    expect(written().map(({ end }) => end)).toEqual([null, null]);
  });
});
