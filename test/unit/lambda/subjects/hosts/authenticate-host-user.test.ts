import { beforeEach, describe, expect, it } from 'vitest';
import {
  authenticateHostUser,
  isForHosts,
} from '../../../../../lambda/subjects/hosts/authenticate-host-user.ts';
import type { LinkedRepo } from '../../../../../lambda/subjects/hosts/rules/git-hosts.ts';
import {
  GitHostUnavailableError,
  type HostAnswer,
  KnownHostUsers,
} from '../../../../../lambda/subjects/hosts/rules/host-client.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { type LoggedEntry, recordingLog } from '../../../../support/recording-log.ts';

describe('authenticate person', () => {
  const path = { tenant: 'acme', repo: 'game' };
  const token = 'ghp_0123456789';
  const github = { id: 'github', kind: 'github', url: 'https://api.github.com' } as const;
  const minute = 60_000;
  const grant = { hostUser: { id: 'github:1234', login: 'ada' }, access: 'write' } as const;
  const mapping = { repo: 'game', host: 'github', name: 'acme/Game', linkedId: null };
  const yes: HostAnswer = { kind: 'granted', grant, linkedId: '77', organizationId: '5', isPublic: false };

  describe('a person', () => {
    let deps: Deps;
    let clock: ManualClock;
    let entries: LoggedEntry[];
    let asked: unknown[];
    let answer: (() => HostAnswer) | (() => never);
    const login = (credential = token, more: object = {}) =>
      authenticateHostUser(deps, { ...path, credential, ...more });
    const map = (more: Partial<LinkedRepo> = {}) =>
      deps.linkedRepos.put({
        tenant: 'acme',
        mark: { ...mapping, sinceMs: clock.nowMs(), ...more },
      });

    beforeEach(async () => {
      clock = new ManualClock();
      asked = [];
      answer = () => yes;
      const { log, entries: logged } = recordingLog();
      entries = logged;
      const hostClient: Deps['hostClient'] = {
        ask: async (question) => {
          asked.push(question);
          await Promise.resolve();
          return answer();
        },
        look: () => Promise.reject(new Error('Nobody looks.')),
      };
      deps = memoryDeps({ clock, log, hostClient, gitHosts: [github] });
      await deps.ledger.createTenant(newTenant('acme'));
      await map();
    });

    it('is let in by their host, which is asked with their token about the mapped name', async () => {
      expect(await login()).toMatchObject({ kind: 'granted', grant, tenant: { tenant: 'acme' } });
      expect(asked).toEqual([{ host: github, name: 'acme/Game', token, isKnown: false }]);
      expect(entries).toEqual([
        {
          level: 'info',
          message: 'user authorized',
          fields: { ...path, host: 'github', hostUser: 'github:1234', access: 'write' },
        },
      ]);
    });

    it('is known for five minutes in this process, and then asked for anew', async () => {
      await login();
      clock.advance(5 * minute - 1);
      await login();
      expect(asked).toHaveLength(1);
      clock.advance(1);
      answer = () => ({ kind: 'refused', reason: 'no-access' });
      expect(await login()).toEqual({ kind: 'refused' });
      expect(asked).toHaveLength(2);
    });

    it('is known in other processes until the same time, which asking them does not put off', async () => {
      await login();
      clock.advance(4 * minute);
      const other = { ...deps, knownHostUsers: new KnownHostUsers() };
      const there = () => authenticateHostUser(other, { ...path, credential: token });
      expect(await there()).toMatchObject({ kind: 'granted', grant });
      clock.advance(minute - 1);
      expect(await there()).toMatchObject({ kind: 'granted' });
      expect(asked).toHaveLength(1);
      clock.advance(1);
      await there();
      expect(asked).toHaveLength(2);
    });

    it('is known for as long as the stage says, counted from the question', async () => {
      deps = { ...deps, settings: { ...deps.settings, hostUserKeptMs: minute } };
      answer = () => {
        clock.advance(2000);
        return yes;
      };
      await login();
      clock.advance(minute - 2001);
      await login();
      expect(asked).toHaveLength(1);
      clock.advance(1);
      await login();
      expect(asked).toHaveLength(2);
    });

    it('is another with another token, for another repo, and after the repo was linked anew', async () => {
      await login();
      await login('ghp_another-one');
      expect(asked).toHaveLength(2);
      clock.advance(1);
      await map();
      await login();
      expect(asked).toHaveLength(3);
      await deps.linkedRepos.end({ ...path, atMs: clock.nowMs() });
      expect(await login()).toEqual({ kind: 'refused' });
      expect(asked).toHaveLength(3);
    });

    it('is asked for once, however many requests come at once', async () => {
      const outcomes = await Promise.all([login(), login(), login()]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(['granted', 'granted', 'granted']);
      expect(asked).toHaveLength(1);
    });

    it.each<[string, object]>([
      ['a repo that is not mapped', { repo: 'film' }],
      ['another tenant', { tenant: 'other' }],
      ['no name at all', { tenant: '', repo: '' }],
    ])('is refused for %s after one read, and nobody is asked', async (_what, more) => {
      let reads = 0;
      const counting = <T extends object>(port: T): T =>
        new Proxy(port, {
          get: (target, name) => {
            const found = Reflect.get(target, name);
            if (typeof found !== 'function') return found;
            return (...args: unknown[]) => {
              reads += 1;
              return found.apply(target, args);
            };
          },
        });
      const scanned = {
        ...deps,
        ledger: counting(deps.ledger),
        linkedRepos: counting(deps.linkedRepos),
        keptGrants: counting(deps.keptGrants),
      };
      const outcome = await authenticateHostUser(scanned, { ...path, credential: token, ...more });
      expect(outcome).toEqual({ kind: 'refused' });
      expect([asked, reads, entries]).toEqual([[], 1, []]);
    });

    it('is refused, and nobody is asked, for a tenant or repo that is being deleted', async () => {
      await deps.ledger.markDirty({ ...path, dirtyToken: 't' });
      await deps.ledger.closeRepo({ ...path, closedAtMs: clock.nowMs() });
      expect(await login()).toEqual({ kind: 'refused' });
      await deps.ledger.openRepo({ ...path, closedAtMs: clock.nowMs() });
      expect(await login()).toEqual({ kind: 'refused' });
      clock.advance(1);
      await map();
      expect(await login()).toMatchObject({ kind: 'granted', repo: { repo: 'game' } });
      await deps.ledger.closeTenant({ tenant: 'acme', closedAtMs: clock.nowMs() });
      expect(await login()).toEqual({ kind: 'refused' });
      expect(asked).toHaveLength(1);
    });

    it('is refused where the stage has no such host any more', async () => {
      await map({ host: 'gitlab' });
      expect(await login()).toEqual({ kind: 'refused' });
      expect(asked).toEqual([]);
      expect(entries[0]?.fields).toMatchObject({ reason: 'unknown git host' });
    });

    it('is refused for fifteen seconds without another question, and the log says why', async () => {
      answer = () => ({ kind: 'refused', reason: 'not-a-member' });
      expect(await login()).toEqual({ kind: 'refused' });
      clock.advance(14_999);
      await login();
      expect(asked).toHaveLength(1);
      expect(entries).toEqual([
        {
          level: 'info',
          message: 'user rejected',
          fields: { ...path, host: 'github', reason: 'not-a-member' },
        },
      ]);
      clock.advance(1);
      answer = () => yes;
      expect(await login()).toMatchObject({ kind: 'granted' });
    });

    it('is not let in while the host does not answer, and it is asked again after five seconds', async () => {
      answer = () => {
        clock.advance(3000);
        throw new GitHostUnavailableError('A git host does not answer as it should: it takes too long.');
      };
      expect(await login()).toEqual({ kind: 'unavailable', host: 'github', retryAfterMs: 5000 });
      clock.advance(4000);
      expect(await login()).toEqual({ kind: 'unavailable', host: 'github', retryAfterMs: 1000 });
      expect(asked).toHaveLength(1);
      expect(entries).toMatchObject([
        { level: 'warn', message: 'git host unavailable', fields: { tookMs: 3000 } },
      ]);
      clock.advance(1000);
      answer = () => yes;
      expect(await login()).toMatchObject({ kind: 'granted' });
    });

    it('is told when the host takes questions again, and it is left alone until then', async () => {
      answer = () => ({ kind: 'limited', retryAfterMs: 90_000 });
      expect(await login()).toEqual({ kind: 'limited', host: 'github', retryAfterMs: 90_000 });
      clock.advance(80_000);
      expect(await login()).toEqual({ kind: 'limited', host: 'github', retryAfterMs: 10_000 });
      expect(asked).toHaveLength(1);
      expect(entries).toMatchObject([{ level: 'warn', message: 'git host limits requests' }]);
      clock.advance(10_000);
      answer = () => yes;
      expect(await login()).toMatchObject({ kind: 'granted' });
      // The limit is that of one token.
      answer = () => ({ kind: 'limited', retryAfterMs: 90_000 });
      await login('ghp_another-one');
      expect(await login()).toMatchObject({ kind: 'granted' });
    });

    it('has the number of their repository noted, and one with another number is refused', async () => {
      await login();
      expect((await deps.linkedRepos.find(path))?.linkedId).toBe('77');
      answer = () => ({ ...yes, linkedId: '78' });
      expect(await login('ghp_of-who-took-the-name')).toEqual({ kind: 'refused' });
      expect(entries.at(-1)?.fields).toMatchObject({ reason: 'another repository has its name now' });
      expect(await deps.keptGrants.find('anything')).toBeUndefined();
      clock.advance(1);
      await map();
      expect(await login('ghp_of-who-took-the-name')).toMatchObject({ kind: 'granted' });
      expect((await deps.linkedRepos.find(path))?.linkedId).toBe('78');
    });

    it('is not let in by an answer to what the repo was linked to before', async () => {
      answer = () => {
        void map({ name: 'acme/other', sinceMs: clock.nowMs() + 1 });
        return yes;
      };
      expect(await login()).toEqual({ kind: 'refused' });
      expect(entries.at(-1)?.fields).toMatchObject({ reason: "the repo's link changed" });
      expect((await deps.linkedRepos.find(path))?.linkedId).toBeNull();
    });

    it('is no reason for an error of ours to be kept', async () => {
      answer = () => {
        throw new Error('a bug');
      };
      await expect(login()).rejects.toThrow('a bug');
      answer = () => yes;
      expect(await login()).toMatchObject({ kind: 'granted' });
    });

    it('is not asked for again if the answer came while the table was read', async () => {
      const find = deps.keptGrants.find.bind(deps.keptGrants);
      deps.keptGrants.find = async (key) => {
        deps.keptGrants.find = find;
        const kept = await find(key);
        await login();
        return kept;
      };
      expect(await login()).toMatchObject({ kind: 'granted', grant });
      expect(asked).toHaveLength(1);
    });

    it('is refused for a tenant that is not there, though a repo of that name is linked', async () => {
      await deps.linkedRepos.put({
        tenant: 'nobody',
        mark: { repo: 'game', host: 'github', name: 'a/b', linkedId: null, sinceMs: clock.nowMs() },
      });
      expect(await login(token, { tenant: 'nobody' })).toEqual({ kind: 'refused' });
      expect(asked).toEqual([]);
    });

    it('is refused by an answer after which the repo is linked no more', async () => {
      deps.linkedRepos.pin = async () => undefined;
      expect(await login()).toEqual({ kind: 'refused' });
      expect(entries.at(-1)?.fields).toMatchObject({ reason: "the repo's link changed" });
    });

    it('has the number of their repository written once', async () => {
      await login();
      deps.linkedRepos.pin = () => Promise.reject(new Error('Nothing is to be written.'));
      expect(await login('ghp_another-one')).toMatchObject({ kind: 'granted' });
    });

    it('is told in the log with place and host, whatever fails', async () => {
      const place = { ...path, host: 'github' };
      answer = () => ({ kind: 'limited', retryAfterMs: 7000 });
      await login('ghp_1');
      const error = new Error('The table is down.');
      deps.keptGrants.keep = () => Promise.reject(error);
      answer = () => yes;
      await login('ghp_2');
      deps = { ...deps, gitHosts: [] };
      await login('ghp_3');
      expect(entries.map(({ message, fields }) => [message, fields])).toEqual([
        ['git host limits requests', { ...place, retryAfterMs: 7000 }],
        ['user authorized', { ...place, hostUser: 'github:1234', access: 'write' }],
        ['grant not kept', { ...place, error }],
        ['user rejected', { ...place, reason: 'unknown git host' }],
      ]);
    });

    it('has a token that is written nowhere', async () => {
      const kept: unknown[] = [];
      deps = {
        ...deps,
        keptGrants: { find: async () => undefined, keep: async (input) => void kept.push(input) },
      };
      await login();
      expect(kept).toHaveLength(1);
      expect(JSON.stringify([kept, entries, await deps.linkedRepos.list('acme')])).not.toContain(token);
    });
  });

  it('only what may be a token of a host is for hosts, and only where there are any', () => {
    expect(isForHosts({ gitHosts: [github] }, token)).toBe(true);
    expect(isForHosts({ gitHosts: [] }, token)).toBe(false);
    expect(isForHosts({ gitHosts: [github] }, undefined)).toBe(false);
    expect(isForHosts({ gitHosts: [github] }, `lfsq_${'a'.repeat(43)}`)).toBe(false);
  });
});
