import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type StoreProfile, unknownFacts } from '../../cli/doctor/profile.ts';
import { exportStoreOf, parseStageSettings } from '../../lib/settings/stages.ts';
import { templateOf } from './stack-template.ts';

const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-profiles-'));
afterAll(() => rmSync(folder, { recursive: true }));

const credentialsSecretArn = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:r2-AbCdEf';
const place = { endpoint: 'https://store.example.com', region: 'auto', bucket: 'lfs-objects' };
const external = (changes: object = {}) =>
  ({ kind: 'external', ...place, credentialsSecretArn, ...changes }) as const;

let files = 0;
function profileWith(partRules: Partial<StoreProfile['holds']['partRules']>): string {
  const holds: StoreProfile['holds'] = {
    ...unknownFacts,
    checksumEnforced: true,
    lengthEnforced: true,
    startAfter: 'exact',
    listOrder: 'utf8',
    listConsistency: 'strong',
    partRules: { ...unknownFacts.partRules, ...partRules },
  };
  const found = { usable: true, failed: [], warnings: [], holds };
  const profile: StoreProfile = { formatVersion: 1, probedAt: '2026-11-22T05:00:00Z', ...place, ...found };
  files += 1;
  const file = join(folder, `${files}.json`);
  writeFileSync(file, JSON.stringify(profile));
  return file;
}

describe('how a stage makes archives', () => {
  it.each([
    { store: { kind: 'bucket', keepDeletedDays: 0 } as const, kind: 's3' },
    { store: external({ endpoint: 'https://s3.eu-central-1.amazonaws.com' }), kind: 's3' },
    { store: external({ endpoint: 'https://0a1b.r2.cloudflarestorage.com' }), kind: 'r2' },
    { store: external({ endpoint: 'https://0a1b.eu.r2.cloudflarestorage.com' }), kind: 'r2' },
    { store: external({ endpoint: 'https://r2.cloudflarestorage.com.example.com' }), kind: 'grid' },
    { store: external(), kind: 'grid' },
    { store: external({ profile: profileWith({}) }), kind: 'grid' },
    { store: external({ profile: profileWith({ multipart: true, equalParts: false }) }), kind: 'grid' },
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
    const parse = (workers: number) => parseStageSettings('test', { objectStore, exports: { workers } });
    expect(() => parse(2)).toThrow(/exports\.workers: must be 0: by its profile/);
    expect(parse(0).exports.workers).toBe(0);
  });
});
