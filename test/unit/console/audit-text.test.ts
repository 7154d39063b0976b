import { describe, expect, it } from 'vitest';
import { auditSentence, refusalSentence } from '../../../console/src/views/audit-text.ts';
import { type AuditAction, auditActions } from '../../../lambda/frame/access/rules/audit.ts';
import type { AuditEntryBody } from '../../../lambda/frame/contract/audit.ts';

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

const token = { label: 'laptop', user: 'bob', scope: 'read', repos: ['game'] };
const rule = { ruleId: 'r', match: { repository: ['acme/game', 'acme/art'] }, scope: 'read', repos: null };
const releasedOne: Partial<AuditEntryBody> = {
  action: 'locks.release',
  target: { repo: 'game' },
  asked: { path: 'art/a.psd' },
  before: { paths: ['art/a.psd'] },
  after: { releasedCount: 1, hasMore: false },
};
const game = { target: { repo: 'game' } };
const organization = { host: 'github', organizationId: '9919', name: 'acme-games' };
const link = { host: 'github', organization: 'acme' };
const job = { exportId: 'e', repo: 'game', format: 'tar', state: 'done' };

/** Of each action an entry with what the API writes down, and its sentence. */
const written: Readonly<Record<AuditAction, readonly [Partial<AuditEntryBody>, string]>> = {
  'tenant.create': [
    { after: { plan: null, limitBytes: null } },
    'mira created this tenant | no plan · no limit',
  ],
  'tenant.update': [
    { asked: { plan: 'team' }, before: { plan: null }, after: { plan: 'team' } },
    'mira changed the plan | from no plan to team',
  ],
  'tenant.delete': [
    { before: { plan: 'team' }, after: { bytes: 1024 }, asked: {} },
    'mira deleted this tenant | team · 1 KiB',
  ],
  'tenant.link': [{ asked: link, after: link }, 'mira linked this tenant to acme | github'],
  'tenant.unlink': [{ asked: {}, before: link }, 'mira unlinked this tenant from acme | github'],
  'token.create': [{ after: token }, 'mira created the token laptop of bob | read · game'],
  'token.revoke': [
    { asked: {}, before: { ...token, label: 'invitation 4cc2b93' } },
    'mira revoked the token of bob | read · game',
  ],
  'rule.create': [
    { after: rule },
    'mira created the CI rule for repository acme/game or acme/art | read · all repos',
  ],
  'rule.delete': [
    { before: rule },
    'mira deleted the CI rule for repository acme/game or acme/art | read · all repos',
  ],
  'identity.exchange': [
    { by: { kind: 'identity', tokenId: null, name: 'repo:acme/game' }, after: { scope: 'write' } },
    'repo:acme/game got a CI token | read and write',
  ],
  'invitation.create': [
    { asked: { user: 'bob' }, after: { user: 'bob', scope: 'read' } },
    'mira created an invitation for bob | read',
  ],
  'invitation.revoke': [
    { asked: {}, target: { invitationId: '4cc2b930' }, before: { user: 'bob', scope: 'read' } },
    'mira revoked an invitation for bob | read',
  ],
  'invitation.accept': [
    { by: { kind: 'identity', tokenId: null, name: 'bob' }, after: { user: 'bob', scope: 'read' } },
    'bob accepted an invitation | read',
  ],
  'console-link.create': [
    { asked: { user: 'bob' }, after: { user: 'bob', scope: 'read' } },
    'mira created a console link | read',
  ],
  'console-link.open': [
    { by: { kind: 'identity', tokenId: null, name: 'bob' }, after: { user: 'bob', scope: 'read' } },
    'bob opened a console link | read',
  ],
  'device.approve': [
    { asked: { userCode: 'BCDF-GHJK' }, after: { machine: 'bob@laptop', scope: 'write' } },
    'mira approved a command line on bob@laptop | read and write',
  ],
  'organization.allow': [
    { asked: { host: 'github', organizationId: '9919' }, after: organization },
    'mira allowed the organization acme-games | github',
  ],
  'organization.remove': [
    { asked: { host: 'github', organizationId: '9919' }, before: organization },
    'mira removed the organization acme-games | github',
  ],
  'user.end': [
    { asked: {}, before: { hostUser: 'github:1234', user: 'bob' } },
    'mira signed out the user bob',
  ],
  'repo.create': [{ ...game, after: { repo: 'game' } }, 'mira created the repo game'],
  'repo.update': [
    { ...game, asked: { limitBytes: 1024 }, before: { limitBytes: null }, after: { limitBytes: 1024 } },
    'mira changed the storage limit of game | from no limit to 1 KiB',
  ],
  'repo.delete': [{ ...game, asked: {}, after: { bytes: 1024 } }, 'mira deleted the repo game | 1 KiB'],
  'object.delete': [
    { target: { repo: 'game', oid: '68cb88c0ffee'.padEnd(64, '0') }, asked: {}, after: { bytes: 1024 } },
    'mira scheduled the deletion of the object 68cb88c0ffee… of game | 1 KiB',
  ],
  'object.keep': [
    { target: { repo: 'game', oid: '68cb88c0ffee'.padEnd(64, '0') }, asked: {} },
    'mira kept the object 68cb88c0ffee… in game',
  ],
  'file.delete': [
    { ...game, asked: { prefix: 'a/' }, after: { fileCount: 2, bytes: 1024 } },
    'mira deleted 2 files below a/ of game | 1 KiB',
  ],
  'reconcile.request': [{ asked: {} }, 'mira requested a scan'],
  'scan.change': [
    { ...game, asked: { state: 'paused' }, before: { state: 'running' }, after: { state: 'paused' } },
    'mira changed the scan of game | from running to paused',
  ],
  'export.start': [{ asked: { repo: 'game' }, after: job }, 'mira started an export of game | done'],
  'export.delete': [
    { asked: {}, before: job, after: { ...job, state: 'cancelled' } },
    'mira removed an export of game | from done to cancelled',
  ],
  'locks.release': [releasedOne, 'mira released the lock of art/a.psd in game'],
  'lock.force': [
    { ...game, before: { path: 'art/a.psd', owner: 'bob', ownerName: 'bob' } },
    'mira force-unlocked art/a.psd in game | locked by bob',
  ],
  'reservations.cancel': [
    { asked: { all: true }, after: { cancelledCount: 2, bytes: 1024 } },
    'mira canceled 2 reservations | 1 KiB',
  ],
  'webhook.set': [
    { asked: { host: 'b.example' }, before: { host: 'a.example' }, after: { host: 'b.example' } },
    'mira set the webhook | from a.example to b.example',
  ],
  'webhook.delete': [{ asked: {}, before: { host: 'a.example' } }, 'mira deleted the webhook | a.example'],
  'webhook.test': [{ asked: {} }, 'mira tested the webhook'],
  'usage-webhook.set': [{ asked: {} }, 'mira set the webhook for usage'],
  'usage-webhook.delete': [{ asked: {} }, 'mira deleted the webhook for usage'],
  'shared-webhook.set': [{ asked: {} }, 'mira set the webhook for all tenants'],
  'shared-webhook.delete': [{ asked: {} }, 'mira deleted the webhook for all tenants'],
  'shared-webhook.test': [{ asked: {} }, 'mira tested the webhook for all tenants'],
  'usage.correct': [{ asked: { hour: '2026-11-28T07Z' } }, 'mira corrected byte-hours of 2026-11-28T07Z'],
  'email.add': [{ asked: { address: 'bob@example.com' } }, 'mira added the e-mail address bob@example.com'],
  'email.remove': [
    { asked: { address: 'bob@example.com' } },
    'mira removed the e-mail address bob@example.com',
  ],
  'gc.open': [{ ...game, asked: {} }, 'mira opened garbage collection of game'],
  'gc.reachable-set': [{ ...game, asked: {} }, 'mira sent a reachable set of game'],
  'gc.run': [{ ...game, asked: {} }, 'mira ran garbage collection of game'],
  'gc.cancel': [{ ...game, asked: {} }, 'mira canceled garbage collection of game'],
  'names.send': [{ ...game, asked: { bytes: 1 } }, 'mira sent the names of game | 1 B'],
  'names.change': [{ ...game, asked: { forReaders: true } }, 'mira changed who sees the names of game'],
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
      'mira force-unlocked Act2/matte.exr in cinematics | locked by bob',
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

  it.each(auditActions)('names whom and what in %s, as the API writes it down', (action) => {
    const [change, text] = written[action];
    expect(said({ action, ...change })).toBe(text);
  });

  it.each<[string, Partial<AuditEntryBody>]>([
    ['mira released the lock of art/a.psd in game', { ...releasedOne, before: null }],
    ['mira released a lock in game', { ...releasedOne, before: null, asked: {} }],
    [
      'mira released 2 locks in game | a.psd, b.psd',
      { ...releasedOne, before: { paths: ['a.psd', 'b.psd'] }, after: { releasedCount: 2 } },
    ],
    [
      'mira released 20 locks in game | a.psd, b.psd and 18 more',
      { ...releasedOne, before: { paths: ['a.psd', 'b.psd', '…'] }, after: { releasedCount: 20 } },
    ],
    [
      'mira released 20 locks in game',
      { ...releasedOne, before: { paths: '…' }, after: { releasedCount: 20 } },
    ],
    ['mira revoked an invitation', { action: 'invitation.revoke', target: { invitationId: '4cc2b930' } }],
    ['mira revoked the token 5f0c1e2d', { action: 'token.revoke', target: { tokenId: '5f0c1e2d3b4a5968' } }],
    [
      'mira revoked the token laptop of bob',
      { action: 'token.revoke', before: { label: 'laptop', user: 'bob' } },
    ],
    [
      'mira started an export of',
      { action: 'export.start', asked: { repo: 'game' }, after: { exportId: 'e' } },
    ],
    [
      'Someone accepted an invitation',
      { action: 'invitation.accept', by: { kind: 'identity', tokenId: null, name: null } },
    ],
    [
      'mira scheduled the deletion of an object of game',
      { action: 'object.delete', target: { repo: 'game' } },
    ],
  ])('%s: also of entries that say less', (text, change) => {
    expect(said(change)).toContain(text);
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
