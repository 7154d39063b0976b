import { afterEach, expect, it, vi } from 'vitest';
import { deployedWith, withExports } from '../../deployed-with.ts';

type Variables = Readonly<Record<string, string | undefined>>;

async function managementWith(variables: Variables) {
  deployedWith({ ...withExports, ...variables });
  const { managementDeps } = await import('../../../../../lambda/functions/management.ts');
  return managementDeps();
}

async function workerWith(variables: Variables) {
  deployedWith({ ...withExports, ...variables });
  const { exportDeps } = await import('../../../../../lambda/functions/exports/export-archive.ts');
  return exportDeps();
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

it('makes exports as the stage says', async () => {
  for (const { exportSettings } of [await managementWith({}), await workerWith({})]) {
    expect(exportSettings).toMatchObject({
      limits: { wantsEqualParts: true },
      tellsCrc32: false,
      perTenantMax: 9,
      keepMs: 2 * 24 * 3_600_000,
    });
    expect(exportSettings.pace.workers).toBe(20);
  }
});

it('makes no exports without a queue for them', async () => {
  const variables = { LFS_QUOTA_EXPORT_QUEUE_URL: undefined };
  await expect(workerWith(variables)).rejects.toThrow("LFS_QUOTA_EXPORT_QUEUE_URL isn't set");
  const { exportSettings, exportQueue } = await managementWith(variables);
  expect(exportSettings.pace.workers).toBe(0);
  await expect(exportQueue.send([])).rejects.toThrow('This function has no queue Export.');
});

it.each([
  ['LFS_QUOTA_EXPORT_STORE', 'minio'],
  ['LFS_QUOTA_EXPORT_STORE', undefined],
  ['LFS_QUOTA_EXPORT_WORKERS', '0'],
  ['LFS_QUOTA_EXPORT_WORKERS', '2.5'],
  ['LFS_QUOTA_EXPORT_PER_TENANT', 'x'],
  ['LFS_QUOTA_EXPORT_KEEP_DAYS', undefined],
])('does not start with %s %s', async (name, value) => {
  await expect(managementWith({ [name]: value })).rejects.toThrow(name);
  await expect(workerWith({ [name]: value })).rejects.toThrow(name);
});
