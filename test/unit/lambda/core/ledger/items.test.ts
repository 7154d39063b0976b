import { describe, expect, it } from 'vitest';
import {
  deletionKey,
  dueKey,
  ofRepo,
  parseDeletion,
  parseRepo,
  parseReservation,
  parseShard,
  parseTenant,
  removalField,
  repoKey,
  reservationKey,
  shardFields,
  shardKey,
  tenantDueKey,
  tenantOfPartition,
} from '../../../../../lambda/core/ledger/items.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { kindKey, tenantKey } from '../../../../../lambda/core/table/table.ts';

const path = { tenant: 'acme', repo: 'app' };

/** What was written once must be found by every later version. */
describe('the key', () => {
  it('of an item names its tenant, its kind and itself', () => {
    expect(tenantKey('acme')).toEqual({ pk: 'TENANT#acme', sk: 'TENANT' });
    expect(repoKey(path)).toEqual({ pk: 'TENANT#acme', sk: 'REPO#app' });
    expect(reservationKey({ ...path, reservationId: 'r' })).toEqual({
      pk: 'TENANT#acme',
      sk: 'RESERVATION#app#r',
    });
    expect(deletionKey({ ...path, deletionId: 'd' })).toEqual({ pk: 'TENANT#acme', sk: 'DELETION#app#d' });
    expect(ofRepo('DELETION', 'app')).toBe('DELETION#app#');
    // Shards are in a partition of their own.
    expect(shardKey({ ...path, prefix: '0f' })).toEqual({ pk: 'SHARDS#acme#app', sk: 'SHARD#0f' });
    expect(tenantOfPartition(tenantKey('acme').pk)).toBe('acme');
  });

  it('of a repo whose name is too long for a key ends with a hash of it', () => {
    const long = 'é'.repeat(400);
    const longer = `${long}x`;
    expect(repoKey({ tenant: 'acme', repo: long }).sk).toBe(`REPO#${long}`);
    expect(repoKey({ tenant: 'acme', repo: longer }).sk).toBe(`REPO#${'é'.repeat(200)}#${sha256Hex(longer)}`);
    expect(Buffer.byteLength(ofRepo('RESERVATION', '\u{1f600}'.repeat(1000)))).toBeLessThan(900);
  });

  it('in the index of what is due has a shard that stays, and tenants are spread over four of them', () => {
    expect(dueKey({ kind: 'TENANT', tenant: 'acme', dueAtMs: 7 })).toEqual({ duepk: 'TENANT#2', dueat: 7 });
    expect(dueKey({ kind: 'TENANT', tenant: 'big-corp', dueAtMs: 7 }).duepk).toBe('TENANT#3');
    const shards = Array.from(
      { length: 400 },
      (_, index) => dueKey({ kind: 'DELETION', tenant: `tenant-${index}`, dueAtMs: 0 }).duepk,
    );
    for (const shard of [0, 1, 2, 3])
      expect(shards.filter((name) => name === `DELETION#${shard}`).length).toBeGreaterThan(80);
  });

  it('of a tenant in that index has its first time, and what it is due for', () => {
    const due = { tenant: 'acme', dueAtMs: 7 };
    expect(tenantDueKey({ ...due, lookAtMs: null })).toEqual({
      duepk: 'TENANT#2',
      dueat: 7,
      fullDueAtMs: 7,
      lookAtMs: null,
    });
    const look = { fullDueAtMs: 7, lookAtMs: 6 };
    expect(tenantDueKey({ ...due, lookAtMs: 6 })).toEqual({ duepk: 'RESERVATION#2', dueat: 6, ...look });
    expect(tenantDueKey({ ...due, lookAtMs: 7 })).toMatchObject({ duepk: 'TENANT#2', dueat: 7 });
  });

  it('in the index by kind is a kind and a sort key', () => {
    expect(kindKey('TENANT', 'acme')).toEqual({ gsi1pk: 'TENANT', gsi1sk: 'acme' });
  });
});

describe('an item', () => {
  const tenantItem = {
    tenant: 'acme',
    createdAtMs: 1,
    committedBytes: 2,
    epoch: 3,
    appliedEpoch: 4,
    confirmedBaseBytes: 5,
    confirmedUntilMs: 6,
    deletedBytes: 7,
    intents: { n: { repo: 'app', bytes: 8, deadlineMs: 9 } },
    leaseUntilMs: 10,
    dueat: 11,
  };
  const tenant = {
    tenant: 'acme',
    plan: null,
    limitBytes: null,
    downloadLimitBytes: null,
    createdAtMs: 1,
    committedBytes: 2,
    epoch: 3,
    appliedEpoch: 4,
    overtakenEpoch: 0,
    confirmedBaseBytes: 5,
    confirmedUntilMs: 6,
    deletedBytes: 7,
    intents: new Map([['n', { repo: 'app', bytes: 8, deadlineMs: 9 }]]),
    scanned: null,
    fullScannedAtMs: 0,
    leaseUntilMs: 10,
    listedUntilMs: 0,
    entryCount: 0,
    deletionCount: 0,
    repoCount: 0,
    reservedUntilMs: null,
    lookAtMs: null,
    dueAtMs: 11,
    closedAtMs: null,
    settingsVersion: 0,
    reposMustExist: false,
    storageClass: null,
    suspended: null,
    suspendedMessage: null,
    repoLimits: new Map(),
  };
  const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: 0 };

  it('of a tenant may lack what an older version did not write, and what was never counted', () => {
    expect(parseTenant(tenantItem)).toEqual({ ...tenant, mayHaveOlderKeys: true });
    const more = {
      plan: 'pro',
      limitBytes: 12,
      downloadLimitBytes: 20,
      listedUntilMs: 13,
      entryCount: 14,
      settingsVersion: 21,
      overtakenEpoch: 15,
      fullScannedAtMs: 16,
      reservedUntilMs: 17,
      closedAtMs: 18,
      lookAtMs: 11,
      reposMustExist: true,
      storageClass: 'STANDARD_IA',
      suspended: 'all',
      suspendedMessage: 'Pay.',
    };
    expect(parseTenant({ ...tenantItem, ...more, ...scanned, fullDueAtMs: 19 })).toEqual({
      ...tenant,
      ...more,
      dueAtMs: 19,
      scanned,
    });
  });

  it.each(Object.keys(scanned))('of a tenant without %s has no count', (name) => {
    expect(parseTenant({ ...tenantItem, ...scanned, [name]: undefined }).scanned).toBeNull();
    expect(parseTenant({ ...tenantItem, ...scanned, [name]: null }).scanned).toBeNull();
  });

  it('of a repo', () => {
    const item = { repo: 'app', storedBytes: 1, objectCount: 2, scannedAtMs: 3, epoch: 4, covered: ['r1'] };
    const repo = { ...item, covered: new Set(['r1']), putsUntilMs: 0, dirtyToken: null, closedAtMs: null };
    expect(parseRepo(item)).toEqual(repo);
    const more = { dirtyToken: 'x', closedAtMs: 5 };
    expect(parseRepo({ ...item, ...more })).toEqual({ ...repo, ...more });
  });

  it.each(['pending', 'issued'])('of a reservation that is %s', (state) => {
    const times = { createdAtMs: 1, expiresAtMs: 2, lapsedAtMs: 3 };
    const item = { reservationId: 'r', repo: 'app', state, entries: { a: 4 }, ...times };
    const entries = new Map([['a', 4]]);
    expect(parseReservation(item)).toEqual({
      id: 'r',
      repo: 'app',
      state,
      entries,
      ...times,
      lookAtMs: null,
    });
    expect(parseReservation({ ...item, lookAtMs: 5 }).lookAtMs).toBe(5);
  });

  it.each(['scheduled', 'deleting', 'deleted'])('of a deletion that is %s', (state) => {
    const item = { deletionId: 'd', repo: 'app', state, objects: { a: 1 }, dueAtMs: 2, deadlineMs: 3 };
    const { deletionId: id, objects, ...rest } = item;
    expect(parseDeletion(item)).toEqual({ ...rest, id, objects: new Map(Object.entries(objects)) });
  });

  it('that is not what it should be is a bug, and throws', () => {
    for (const parse of [parseTenant, parseRepo, parseReservation, parseDeletion])
      for (const item of [undefined, {}, { repo: 'app' }]) expect(() => parse(item)).toThrow();
    expect(() => parseTenant({ ...tenantItem, committedBytes: 0.5 })).toThrow();
    const note = { repo: 'app', bytes: 1 };
    expect(() => parseTenant({ ...tenantItem, intents: { n: note } })).toThrow();
  });
});

describe('of a large repo', () => {
  const written = {
    prefix: '0f',
    epoch: 7,
    partOf: { prefix: '0', epoch: 6 },
    storedBytes: 1,
    objectCount: 2,
    sinceBytes: -3,
    sinceCount: -4,
    scannedAtMs: 5,
    scanEndedMs: 6,
    counted: 'aa:z bb:10',
    appliedRuns: ['d:1'],
  };
  const counted = new Map([
    ['aa', 35],
    ['bb', 36],
  ]);

  it('a shard is an item with its names as one text, because they are most of it', () => {
    const shard = { ...written, stale: null, counted, appliedRuns: new Set(['d:1']) };
    expect(parseShard(written)).toEqual(shard);
    expect(shardFields(shard)).toEqual(written);
    const stale = { fromMs: 1, untilMs: 2, doubtBytes: 3 };
    expect(parseShard({ ...written, stale })).toEqual({ ...shard, stale });
    expect(shardFields({ ...shard, stale })).toEqual({ ...written, stale });
  });

  it('a shard of an earlier version does not say of what it is a part', () => {
    const { partOf: _, ...earlier } = written;
    expect(parseShard(earlier).partOf).toBeNull();
  });

  it('a shard without names has an empty text, or none', () => {
    const { counted: _, ...none } = written;
    expect(parseShard(none).counted).toEqual(new Map());
    expect(parseShard({ ...none, counted: '' }).counted).toEqual(new Map());
  });

  it('what a delete removed is kept in pairs of size and time', () => {
    const times = { runMs: 1, beganMs: 2, endedMs: 3 };
    const objects = new Map([
      ['aa', { sizeBytes: 4, lastModifiedMs: 5 }],
      ['bb', { sizeBytes: 6, lastModifiedMs: null }],
    ]);
    const field = { ...times, objects: { aa: [4, 5], bb: [6, null] }, pairs: [] };
    expect(removalField({ ...times, objects }, { isPacked: false })).toEqual(field);
    const item = { deletionId: 'd', repo: 'app', state: 'deleted', objects: {}, dueAtMs: 0, deadlineMs: 0 };
    expect(parseDeletion({ ...item, removal: field }).removal).toEqual({ ...times, objects });
    expect(parseDeletion(item)).not.toHaveProperty('removal');
  });

  it('names that no map keeps are pairs: an empty one, and those that every object has', () => {
    const names = ['', ...Object.getOwnPropertyNames(Object.prototype)];
    const times = { runMs: 1, beganMs: 2, endedMs: 3 };
    const object = { sizeBytes: 4, lastModifiedMs: 5 };
    const objects = new Map(['aa', ...names].map((name) => [name, object]));
    const field = removalField({ ...times, objects }, { isPacked: false });
    expect(field).toEqual({ ...times, objects: { aa: [4, 5] }, pairs: names.map((name) => [name, [4, 5]]) });
    const item = { deletionId: 'd', repo: 'app', state: 'deleted', objects: {}, dueAtMs: 0, deadlineMs: 0 };
    expect(parseDeletion({ ...item, removal: field }).removal).toEqual({ ...times, objects });
  });

  it('what a gc run removed is kept in a text', () => {
    const times = { runMs: 1, beganMs: 2, endedMs: 3 };
    const objects = new Map([
      ['ab'.repeat(32), { sizeBytes: 40, lastModifiedMs: 1_700_000_000_000 }],
      ['cd'.repeat(32), { sizeBytes: 0, lastModifiedMs: null }],
    ]);
    const field = removalField({ ...times, objects }, { isPacked: true });
    const packed = `${Buffer.alloc(32, 0xab).toString('base64')}:14:loyw3v28 ${Buffer.alloc(32, 0xcd).toString('base64')}:0:`;
    expect(field).toEqual({ ...times, objects: {}, packed });
    const item = { deletionId: 'd', repo: 'app', state: 'deleted', objects: {}, dueAtMs: 0, deadlineMs: 0 };
    expect(parseDeletion({ ...item, removal: field }).removal).toEqual({ ...times, objects });
  });
});
