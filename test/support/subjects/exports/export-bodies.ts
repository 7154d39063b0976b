import type { ExportBody } from '../../../../lambda/subjects/exports/contract.ts';

const figures = {
  archiveBytes: 20 * 1024 ** 3,
  uploadedBytes: 8 * 1024 ** 3,
  copiedBytes: 12 * 1024 ** 3,
  archives: 1,
  shards: 0,
  requests: 6400,
  dollars: 0.014,
  seconds: 14.4,
};

/** An export as the API answers it: begun, unless a test changes that. */
export function exportBody(changes: Partial<ExportBody> = {}): ExportBody {
  return {
    exportId: '019a9d3c2f805f0c1e2d3b4a',
    tenant: 'acme',
    repo: 'game',
    by: { kind: 'token', name: 'ada' },
    listedObjects: null,
    named: false,
    format: 'tar',
    dryRun: false,
    state: 'planning',
    createdAt: '2026-11-21T04:59:00Z',
    endedAt: null,
    expiresAt: '2026-11-22T04:59:00Z',
    progress: {
      share: null,
      uploadedBytes: 0,
      copiedBytes: 0,
      hashedBytes: 0,
      requests: 0,
      unitsDone: 0,
      units: 0,
    },
    plan: null,
    failure: null,
    archives: [],
    countsAgainstQuota: false,
    ...changes,
  };
}

export const plan: NonNullable<ExportBody['plan']> = {
  way: 'copy-free',
  objectCount: 3000,
  objectBytes: 19 * 1024 ** 3,
  missing: 0,
  conflicts: 0,
  ...figures,
};

/** @param share of it that is done. */
export function copying(share: number, changes: Partial<ExportBody> = {}): ExportBody {
  const [uploadedBytes = 0, copiedBytes = 0] = [figures.uploadedBytes, figures.copiedBytes].map((bytes) =>
    Math.round(bytes * share),
  );
  const progress = {
    share,
    uploadedBytes,
    copiedBytes,
    hashedBytes: 0,
    requests: 640,
    unitsDone: 1,
    units: 8,
  };
  return exportBody({ state: 'copying', plan, progress, ...changes });
}

/** @param url of the archive. */
export function done(url: string, changes: Partial<ExportBody> = {}): ExportBody {
  return copying(1, {
    state: 'done',
    endedAt: '2026-11-21T05:00:00Z',
    expiresAt: '2026-11-28T05:00:00Z',
    archives: [
      { name: 'acme-game.tar', sizeBytes: figures.archiveBytes, url, urlExpiresAt: '2026-11-21T05:30:00Z' },
    ],
    ...changes,
  });
}
