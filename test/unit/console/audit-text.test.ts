import { describe, expect, it } from 'vitest';
import { auditSentence, refusalSentence } from '../../../console/src/views/audit-text.ts';
import { auditActions } from '../../../lambda/accounts/rules/audit.ts';
import type { AuditEntryBody } from '../../../lambda/api/contract/audit.ts';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

const entry = (change: Partial<AuditEntryBody>): AuditEntryBody => ({
  time: '2026-11-21T05:00:00.123Z',
  requestId: 'r',
  by: { kind: 'token', tokenId: '5f0c1e2d3b4a5968', name: 'mira' },
  action: 'token.create',
  target: {},
  asked: null,
  outcome: 'succeeded',
  reason: null,
  before: null,
  after: null,
  ...change,
});

const said = (change: Partial<AuditEntryBody>) => {
  const { who, did, repo, detail } = auditSentence(entry(change));
  return plain([`${who} ${did}${repo === undefined ? '' : ` ${repo}`}`, detail].filter(Boolean).join(' | '));
};

describe('the audit log in sentences', () => {
  it.each<[string, Partial<AuditEntryBody>]>([
    [
      'mira created the token Jonas, laptop | read and write · cinematics, trailers · expires 19 Feb 2027',
      {
        after: {
          label: 'Jonas, laptop',
          scope: 'write',
          repos: ['cinematics', 'trailers'],
          expiresAt: '2027-02-19T05:00:00Z',
        },
      },
    ],
    [
      'mira changed the storage limit of atlas-world | from 700 GiB to 800 GiB',
      {
        action: 'repo.update',
        target: { repo: 'atlas-world' },
        asked: { limitBytes: 800 * 1024 ** 3 },
        before: { limitBytes: 700 * 1024 ** 3 },
        after: { limitBytes: 800 * 1024 ** 3 },
      },
    ],
    [
      'mira changed public access of ui-kit | from private to public, up to 200 GiB a month',
      {
        action: 'repo.update',
        target: { repo: 'ui-kit' },
        asked: { publicRead: { monthlyLimitBytes: 200 * 1024 ** 3 } },
        before: { publicRead: null },
        after: { publicRead: { monthlyLimitBytes: 200 * 1024 ** 3 } },
      },
    ],
    [
      'The operator changed the storage limit and the plan | from no limit to 2 TiB · from no plan to studio',
      {
        by: { kind: 'operator', tokenId: null, name: null },
        action: 'tenant.update',
        asked: { limitBytes: 2 * 1024 ** 4, plan: 'studio' },
        before: { limitBytes: null, plan: null },
        after: { limitBytes: 2 * 1024 ** 4, plan: 'studio' },
      },
    ],
    [
      'mira tried to delete the repo tools | gc running',
      { action: 'repo.delete', target: { repo: 'tools' }, outcome: 'denied', reason: 'gc-running' },
    ],
    [
      'jonas released 3 locks in cinematics',
      {
        by: { kind: 'token', tokenId: 'a', name: 'jonas' },
        action: 'locks.release',
        target: { repo: 'cinematics' },
        after: { releasedCount: 3, hasMore: false },
      },
    ],
    [
      'Token 5f0c1e2d tried to start an export | outcome unknown',
      {
        by: { kind: 'token', tokenId: '5f0c1e2d3b4a5968', name: null },
        action: 'export.start',
        outcome: 'started',
      },
    ],
    [
      'mira force-unlocked Act2/matte.exr in cinematics',
      {
        action: 'lock.force',
        target: { repo: 'cinematics', lockId: 'x' },
        before: { path: 'Act2/matte.exr', owner: 'bob', ownerName: 'bob' },
      },
    ],
  ])('%s', (text, change) => {
    expect(said(change)).toBe(text);
  });

  it.each(auditActions)('has words for %s, with fields it does not know', (action) => {
    expect(said({ action, asked: { other: { deep: [1] } } })).not.toMatch(/\bdid\b|undefined|\[object/);
  });

  it('shows what it has no words for', () => {
    expect(said({ action: 'moon.land' })).toBe('mira did moon.land');
  });

  it('says a rejected push with the number of the message that git shows', () => {
    const sentence = refusalSentence({
      at: '2026-11-21T14:12:00Z',
      repo: 'cinematics',
      user: 'mira',
      files: 100,
      atLeast: true,
      bytes: 331 * 1024 ** 3,
      shortBytes: 50 * 1024 ** 3,
      limit: 'tenant',
    });
    expect(sentence).toMatchObject({ who: 'mira', did: "couldn't push to", repo: 'cinematics' });
    expect(plain(sentence.detail)).toBe('at least 100 files, 331 GiB: 50 GiB short of the storage limit');
    expect(sentence.isRejected).toBe(true);
  });
});
