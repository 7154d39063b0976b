import { beforeEach, describe, expect, it, vi } from 'vitest';
import { AuditUnavailableError, LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { type AuditTrail, actorOf, audited } from '../../../../../lambda/frame/access/audit.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { MemoryAuditLog } from '../../../../support/memory/stores.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const down = () => Promise.reject(new LedgerUnavailableError('down'));

describe('an action that is audited', () => {
  let audit: MemoryAuditLog;
  let entries: ReturnType<typeof recordingLog>['entries'];
  const clock = new ManualClock();
  let log: ReturnType<typeof recordingLog>['log'];

  beforeEach(() => {
    audit = new MemoryAuditLog();
    ({ log, entries } = recordingLog());
  });

  const act = (
    run: (trail: AuditTrail) => Promise<string>,
    verdict: { outcome: 'succeeded' | 'denied'; reason?: string } = { outcome: 'succeeded' },
  ) =>
    audited(
      { audit, clock, log },
      {
        action: {
          tenant: 'acme',
          requestId: 'r1',
          by: actorOf(undefined),
          action: 'tenant.update',
          target: { repo: 'game' },
          asked: { limitBytes: 5 },
        },
        run,
        verdictOf: () => verdict,
      },
    );

  it('tells all that it changes, one after the other', async () => {
    await act(async (trail) => {
      trail.was({ limitBytes: 1 });
      trail.became({ limitBytes: 2 });
      trail.was({ publicRead: null });
      trail.became({ publicRead: { monthlyLimitBytes: 5 } });
      return 'ok';
    });
    const { entries: written } = await audit.list({
      tenant: 'acme',
      fromMs: 0,
      untilMs: Date.UTC(2100, 0),
      pageSize: 10,
    });
    expect(written[0]).toMatchObject({
      before: { limitBytes: 1, publicRead: null },
      after: { limitBytes: 2, publicRead: { monthlyLimitBytes: 5 } },
    });
  });

  it('is written down as begun before, and with what it changed after', async () => {
    const atMs = clock.nowMs();
    const begun = {
      tenant: 'acme',
      atMs,
      requestId: 'r1',
      by: { kind: 'operator', tokenId: null, name: null },
      action: 'tenant.update',
      target: { repo: 'game' },
      asked: { limitBytes: 5 },
      outcome: 'started',
      reason: null,
      before: null,
      after: null,
    };
    const result = await act(async (trail) => {
      expect(audit.entries).toEqual([begun]);
      expect(entries).toEqual([]);
      trail.was({ limitBytes: null });
      trail.became({ limitBytes: 5, label: `lfsq_${'a'.repeat(40)}` });
      clock.advance(1000);
      return 'result';
    });
    expect(result).toBe('result');
    expect(audit.entries).toEqual([
      {
        ...begun,
        outcome: 'succeeded',
        before: { limitBytes: null },
        after: { limitBytes: 5, label: 'lfsq_…' },
      },
    ]);
    const { tenant, by, action, target } = begun;
    const fields = { tenant, by, action, target, outcome: 'succeeded' };
    expect(entries).toEqual([{ level: 'info', message: 'audit', fields }]);
  });

  it('that is refused has the reason, in the log too', async () => {
    await act(async () => 'no', { outcome: 'denied', reason: 'repo-not-found' });
    expect(audit.entries).toMatchObject([{ outcome: 'denied', reason: 'repo-not-found' }]);
    expect(entries).toMatchObject([{ fields: { outcome: 'denied', reason: 'repo-not-found' } }]);
  });

  it('that breaks has failed, with what is known of it, and throws what it threw', async () => {
    const act1 = act(async (trail) => {
      trail.was({ limitBytes: 1 });
      throw new Error('broken');
    });
    await expect(act1).rejects.toThrow('broken');
    expect(audit.entries).toMatchObject([
      { outcome: 'failed', reason: null, before: { limitBytes: 1 }, after: null },
    ]);
  });

  it('may be one that nothing was asked for, by nobody with a name, or with a name that is a secret', async () => {
    const token = tokenRecord('one', { tenant: 'acme', user: null, label: `my lfsq_${'a'.repeat(40)}` });
    const action = { tenant: 'acme', action: 'tenant.update' } as const;
    const run = async () => 'ok';
    const verdictOf = () => ({ outcome: 'succeeded' }) as const;
    for (const by of [actorOf(token), actorOf({ ...token, label: null })])
      await audited(
        { audit, clock, log },
        { action: { ...action, requestId: String(by.name), by }, run, verdictOf },
      );
    expect(audit.entries).toMatchObject([
      { by: { name: 'my lfsq_…' }, target: {}, asked: null },
      { by: { name: null }, target: {}, asked: null },
    ]);
  });

  it('is not done if nobody can write down that it was begun', async () => {
    const run = vi.fn(async () => 'done');
    audit.begin = down;
    const refused = act(run);
    await expect(refused).rejects.toThrow(AuditUnavailableError);
    await expect(refused).rejects.toMatchObject({
      message: "Can't write the audit.",
      cause: expect.any(LedgerUnavailableError),
    });
    expect(run).not.toHaveBeenCalled();
    audit.begin = () => Promise.reject(new TypeError('a bug'));
    await expect(act(run)).rejects.toThrow(TypeError);
    expect(run).not.toHaveBeenCalled();
  });

  it('counts if its end cannot be written: then it stays as begun', async () => {
    audit.finish = down;
    expect(await act(async () => 'done')).toBe('done');
    await expect(act(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(audit.entries).toMatchObject([{ outcome: 'started' }]);
    expect(entries.map(({ level, message }) => [level, message])).toEqual([
      ['info', 'audit'],
      ['warn', 'audit not finished'],
      ['info', 'audit'],
      ['warn', 'audit not finished'],
    ]);
    expect(entries[1]?.fields).toEqual({
      tenant: 'acme',
      action: 'tenant.update',
      error: expect.any(LedgerUnavailableError),
    });
  });

  it('is by a token, by the name of its user or else its label', () => {
    const token = tokenRecord('one', { tenant: 'acme', user: 'ada', label: 'laptop' });
    expect(actorOf(token)).toEqual({ kind: 'token', tokenId: token.tokenId, name: 'ada' });
    expect(actorOf({ ...token, user: null })).toMatchObject({ name: 'laptop' });
    expect(actorOf({ ...token, user: null, label: null })).toMatchObject({ name: null });
    const hostUser = { id: 'github:1234', login: 'ada' };
    expect(actorOf({ tokenId: hostUser.id, scope: 'write', user: null, label: null, hostUser })).toEqual({
      kind: 'identity',
      tokenId: 'github:1234',
      name: 'ada',
    });
  });
});
