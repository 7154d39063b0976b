import { describe, expect, it } from 'vitest';
import {
  deliveryText,
  expiryText,
  exportText,
  gcStep,
  jobsText,
} from '../../../console/src/views/view-texts.ts';
import type { ExportBody } from '../../../lambda/subjects/exports/contract.ts';
import type { GcBody } from '../../../lambda/subjects/gc/contract.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');
const plain = (text: string) => text.replaceAll('\u00a0', ' ');

describe('texts of the views', () => {
  it.each([
    [null, 'never expires', true],
    ['2026-11-21T12:00:00Z', 'expired', true],
    ['2026-12-05T12:00:00Z', 'in 14 days', true],
    ['2026-12-05T12:00:01Z', 'in 14 days', false],
    ['2027-02-19T12:00:00Z', 'in 90 days', false],
  ])('a token that expires at %s: %s, amber: %s', (expiresAt, text, isNear) => {
    expect(expiryText(expiresAt, nowMs)).toEqual({ text, isNear });
  });

  it('jobs of a rule by host and claims', () => {
    const match = { repository_id: ['733102994'], ref: ['refs/heads/main', 'refs/heads/next'] };
    expect(jobsText({ issuer: 'https://token.actions.githubusercontent.com', match })).toBe(
      'GitHub Actions: repository_id 733102994, ref refs/heads/main or refs/heads/next',
    );
    expect(jobsText({ issuer: 'https://gitlab.acme.example', match: { project_id: ['7'] } })).toBe(
      'gitlab.acme.example: project_id 7',
    );
  });

  it.each<[GcBody['state'], boolean, boolean, number]>([
    ['watching', false, false, 1],
    ['watching', true, false, 2],
    ['selecting', false, false, 2],
    ['watching', true, true, 3],
    ['deleting', false, true, 3],
    ['done', false, true, 0],
    ['cancelled', false, false, 0],
    ['expired', false, false, 0],
  ])('garbage collection that is %s (may run: %s, found: %s) is at step %d', (state, mayRun, found, step) => {
    expect(gcStep({ state, mayRun, found: found ? ({} as GcBody['found']) : null })).toBe(step);
  });

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

  it('the last delivery of a webhook, and why it failed', () => {
    const last = {
      eventId: 'acme:7',
      type: 'storage.threshold',
      at: '2026-11-21T11:50:00Z',
      attempt: 1,
      outcome: 'delivered' as const,
      status: 204,
      failure: null,
      nextAt: null,
    };
    expect(deliveryText(last, nowMs)).toBe('Last: storage.threshold, 10 min ago, delivered');
    expect(deliveryText({ ...last, outcome: 'failed', status: 500 }, nowMs)).toBe(
      'Last: storage.threshold, 10 min ago, failed, is retried (500)',
    );
  });
});
