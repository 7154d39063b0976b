import type { ExportStoreKind } from '../../lambda/domain/export/export-settings.ts';
import type { StageSettings } from './stage-settings.ts';
import { readStoreProfile } from './store-profile.ts';

/**
 * What the stage's store does with parts. R2 and AWS are known by their addresses. Of any other store a profile can tell
 * that it copies no parts; that it takes parts of any size is not enough to plan as for S3, because whether it tells the
 * CRC-32 of a copy was not probed.
 *
 * @throws {Error} if the profile is not readable.
 */
export function exportStoreOf(store: StageSettings['objectStore']): ExportStoreKind {
  if (store.kind === 'bucket') return 's3';
  const host = new URL(store.endpoint).hostname;
  if (/\.amazonaws\.com(?:\.cn)?$/.test(host)) return 's3';
  if (/\.r2\.cloudflarestorage\.com$/.test(host)) return 'r2';
  const profile = store.profile === undefined ? undefined : readStoreProfile(store.profile);
  return profile?.holds.partRules.uploadPartCopy === false ? 'stream' : 'grid';
}
