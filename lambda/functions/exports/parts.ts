import { storeKinds } from '../../core/store/rules/store-kind.ts';
import { optional, required } from '../../parts.ts';
import { exportSettingsFor } from '../../subjects/exports/rules/settings.ts';

/** How the stage makes exports. Without a queue it makes none. */
export function stageExports() {
  if (optional('LFS_QUOTA_EXPORT_QUEUE_URL') === undefined)
    return { exportSettings: exportSettingsFor('s3', { workers: 0 }) };
  const name = required('LFS_QUOTA_EXPORT_STORE');
  const kind = storeKinds.find((each) => each === name);
  if (kind === undefined) throw new Error(`The environment variable LFS_QUOTA_EXPORT_STORE is ${name}.`);
  return {
    exportSettings: exportSettingsFor(kind, {
      workers: count('LFS_QUOTA_EXPORT_WORKERS'),
      perTenantMax: count('LFS_QUOTA_EXPORT_PER_TENANT'),
      keepDays: count('LFS_QUOTA_EXPORT_KEEP_DAYS'),
    }),
  };
}

/** A whole number above 0. */
function count(name: string): number {
  const value = Number(required(name));
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`The environment variable ${name} must be a whole number above 0.`);
  return value;
}
