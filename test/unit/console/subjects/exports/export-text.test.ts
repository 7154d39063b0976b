import { expect, it } from 'vitest';
import { exportText } from '../../../../../console/src/subjects/exports/export-text.ts';
import type { ExportBody } from '../../../../../lambda/subjects/exports/contract.ts';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

it.each<[Partial<ExportBody>, string]>([
  [{ state: 'planning', progress: { share: null } as ExportBody['progress'] }, '0 %'],
  [{ state: 'copying', progress: { share: 0.64 } as ExportBody['progress'] }, '64.0 %'],
  [
    {
      state: 'done',
      archives: [{ sizeBytes: 1024 }, { sizeBytes: 1024 }] as unknown as ExportBody['archives'],
    },
    '2 KiB',
  ],
  [{ state: 'failed', failure: { reason: 'store', message: 'The store failed.' } }, 'The store failed.'],
  [{ state: 'expired' }, 'expired'],
])('an export %o', (change, text) => {
  expect(plain(exportText({ failure: null, archives: [], ...change } as unknown as ExportBody))).toBe(text);
});
