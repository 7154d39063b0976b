import { describe, expect, it } from 'vitest';
import type { StoreProfile } from '../../cli/doctor/profile.ts';
import { stageJson } from '../../lib/functions/functions.ts';
import { exportStoreOf, parseDeploymentSettings } from '../../lib/settings/stages.ts';
import { expectRefused, externalStore, templateOf, useFolder } from './stack-template.ts';

const { write } = useFolder();
const mib = 1024 ** 2;
const { endpoint, region, bucket } = externalStore;
const good: StoreProfile = {
  formatVersion: 1,
  probedAt: '2026-11-22T04:00:00.000Z',
  endpoint,
  region,
  bucket,
  usable: true,
  failed: [],
  warnings: ['list-encoding'],
  holds: {
    maxPutBytes: null,
    partRules: { multipart: null, uploadPartCopy: null },
    checksumEnforced: true,
    lengthEnforced: true,
    startAfter: 'exact',
    listOrder: 'utf8',
    listConsistency: 'strong',
    clockSkewMs: -800,
  },
};
const holding = (holds: Partial<StoreProfile['holds']>, more: Partial<StoreProfile> = {}) => ({
  ...good,
  ...more,
  holds: { ...good.holds, ...holds },
});
const refusesAbove = (maxPutBytes: number | null) =>
  holding({ maxPutBytes }, { warnings: ['largest-upload'] });

let serial = 0;
const settingsWith = (profile: unknown, protocol?: object) => ({
  objectStore: { ...externalStore, profile: write(`${serial++}.json`, profile) },
  ...(protocol && { protocol }),
});

const objectMaxMiB = (profile: unknown, protocol?: object) =>
  parseDeploymentSettings('prod', settingsWith(profile, protocol)).protocol.objectMaxMiB;

describe('the profile of a store', () => {
  it('that can be used changes nothing', () => {
    const settings = settingsWith(good);
    const { profile, ...objectStore } = settings.objectStore;
    const without = parseDeploymentSettings('prod', { objectStore });
    expect(parseDeploymentSettings('prod', settings)).toEqual({
      ...without,
      objectStore: { ...objectStore, profile },
    });
  });

  it('may lack what the service does without, and show deleted objects late', () => {
    for (const holds of [
      { startAfter: 'inside-prefix' },
      { listOrder: 'ascii' },
      { listConsistency: 'eventual' },
    ] as const) {
      expect(() => parseDeploymentSettings('prod', settingsWith(holding(holds)))).not.toThrow();
    }
  });

  it.each([
    [{ ...good, usable: false, failed: ['other-bytes'] }, "can't be used: it failed other-bytes"],
    [{ ...good, failed: ['list-order', 'clock'] }, "can't be used: it failed list-order, clock"],
    [holding({ checksumEnforced: null }), 'uploads of other bytes are refused (holds.checksumEnforced)'],
    [holding({ lengthEnforced: false }), 'uploads of another length are refused (holds.lengthEnforced)'],
    [holding({ startAfter: 'wrong' }), 'listings can start after a key (holds.startAfter)'],
    [holding({ startAfter: null }), 'listings can start after a key (holds.startAfter)'],
    [holding({ listOrder: 'other' }), 'listings are in the order of bytes (holds.listOrder)'],
    [holding({ listConsistency: null }), 'just uploaded (holds.listConsistency)'],
    [refusesAbove(null), 'found no size of upload'],
    [holding({ clockSkewMs: -56_000 }), "the store's clock is 56 s behind: more than 55 s"],
    [{ ...good, bucket: 'other' }, 'is for another store: other at https://store.example.com (auto)'],
    [{ ...good, endpoint: null }, 'is for another store: lfs-objects at AWS (auto)'],
    [{ ...good, region: 'eu' }, 'is for another store: lfs-objects at https://store.example.com (eu)'],
    [{ ...good, formatVersion: 2 }, "isn't a profile of this version"],
    ['{', "can't be read as JSON"],
  ])('that shows a store which cannot work ends the synth: %#', (profile, message) => {
    for (const told of [message, /^ {2}objectStore\.profile: /m, 'Run `npx lfs-quota doctor'])
      expectRefused(settingsWith(profile), told);
  });

  it('of an older version is read, with what has gone from it', () => {
    const partRules = { ...good.holds.partRules, copyObject: true, smallParts: false, equalParts: null };
    const older = { ...good.holds, checksumKept: true, versioned: true, pageKeys: 600, partRules };
    expect(objectMaxMiB({ ...good, holds: older })).toBe(objectMaxMiB(good));
  });

  it('that is not there ends the synth', () => {
    const objectStore = { ...externalStore, profile: '/nowhere.json' };
    expectRefused({ objectStore }, /objectStore\.profile: can't be read as JSON/);
  });

  it('tells the largest object by default, rounded down', () => {
    expect(objectMaxMiB(refusesAbove(100 * mib + 5))).toBe(100);
    expect(objectMaxMiB(refusesAbove(100 * mib), { objectMaxMiB: 40 })).toBe(40);
    // Nothing larger was tried.
    expect(objectMaxMiB(holding({ maxPutBytes: 100 * mib }))).toBe(5120);
    const json = stageJson(parseDeploymentSettings('prod', settingsWith(refusesAbove(100 * mib))));
    expect(JSON.parse(json['stageJson.protocol'] ?? '')).toBe(JSON.stringify({ objectBytesMax: 100 * mib }));
  });

  it('refuses a larger one that a stage sets', () => {
    expectRefused(
      settingsWith(refusesAbove(100 * mib), { objectMaxMiB: 101 }),
      'protocol.objectMaxMiB: must be 100 or less: by its profile the store refuses larger uploads',
    );
  });

  it('may be of an address with a slash at its end, as people type it', () => {
    expect(objectMaxMiB({ ...good, endpoint: 'https://store.example.com/' })).toBe(5120);
  });
});

describe('how a stage makes archives', () => {
  const external = (changes: object = {}) => ({ ...externalStore, ...changes }) as const;
  const profileWith = (partRules: Partial<StoreProfile['holds']['partRules']>) =>
    settingsWith(holding({ partRules: { ...good.holds.partRules, ...partRules } })).objectStore.profile;

  it.each([
    { store: { kind: 'bucket', keepDeletedDays: 0 } as const, kind: 's3' },
    { store: external({ endpoint: 'https://s3.eu-central-1.amazonaws.com' }), kind: 's3' },
    { store: external({ endpoint: 'https://0a1b.r2.cloudflarestorage.com' }), kind: 'r2' },
    { store: external({ endpoint: 'https://0a1b.eu.r2.cloudflarestorage.com' }), kind: 'r2' },
    { store: external({ endpoint: 'https://r2.cloudflarestorage.com.example.com' }), kind: 'grid' },
    { store: external(), kind: 'grid' },
    { store: external({ profile: profileWith({}) }), kind: 'grid' },
    { store: external({ profile: profileWith({ multipart: true }) }), kind: 'grid' },
    { store: external({ profile: profileWith({ multipart: true, uploadPartCopy: false }) }), kind: 'stream' },
  ])('in $store is $kind', ({ store, kind }) => {
    expect(exportStoreOf(store)).toBe(kind);
  });

  it('reaches the functions', () => {
    templateOf({ objectStore: external() }).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { LFS_QUOTA_EXPORT_STORE: 'grid' } },
    });
  });

  it('is refused where the store takes no uploads in parts, unless the stage makes none', () => {
    const objectStore = external({ profile: profileWith({ multipart: false }) });
    expectRefused({ objectStore, exports: { workers: 2 } }, /exports\.workers: must be 0: by its profile/);
    expect(parseDeploymentSettings('test', { objectStore, exports: { workers: 0 } }).exports.workers).toBe(0);
  });
});
