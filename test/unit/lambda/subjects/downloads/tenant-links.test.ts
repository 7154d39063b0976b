import { beforeEach, describe, expect, it } from 'vitest';
import { findPublicRepo } from '../../../../../lambda/subjects/downloads/lfs/public-repos.ts';
import { authenticateHostUser } from '../../../../../lambda/subjects/hosts/authenticate-host-user.ts';
import { pinnedReposMax, type TenantLink } from '../../../../../lambda/subjects/hosts/rules/git-hosts.ts';
import {
  GitHostUnavailableError,
  type HostAnswer,
} from '../../../../../lambda/subjects/hosts/rules/host-client.ts';
import { linkTenant } from '../../../../../lambda/subjects/hosts/tenant-links.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';

const minute = 60_000;
const hour = 60 * minute;
const github = { id: 'github', kind: 'github', url: 'https://api.github.com' } as const;
const grant = { hostUser: { id: 'github:1234', login: 'ada' }, access: 'write' } as const;

/** A repository of the organization. */
interface Repository {
  id: string;
  /** Whose it is. */
  organizationId?: string;
  isPublic?: boolean;
}

describe('a tenant that is linked to an organization', () => {
  let deps: Deps;
  let clock: ManualClock;
  /** Names of what was asked for with a token, and as nobody. */
  let asked: string[];
  let looked: string[];
  let there: Map<string, Repository>;
  let isDown: boolean;
  let tokens: number;

  /** Each login is with another token, of which nothing is known. */
  const login = (repo = 'game', tenant = 'acme') => {
    tokens += 1;
    return authenticateHostUser(deps, { tenant, repo, credential: `ghp_0123456789-${tokens}` });
  };
  const link = (more: Partial<TenantLink> = {}) => {
    const to = { host: 'github', organization: 'Acme-Org', publicRead: null, ...more };
    return linkTenant(deps, { tenant: 'acme', to });
  };
  const pin = (repo = 'game') => deps.tenantLinks.findPin({ tenant: 'acme', repo });

  beforeEach(async () => {
    clock = new ManualClock();
    [asked, looked, isDown, tokens] = [[], [], false, 0];
    there = new Map([['Acme-Org/game', { id: '77' }]]);
    const found = (name: string) => {
      if (isDown) throw new GitHostUnavailableError('It is down.');
      return there.get(name);
    };
    const hostClient: Deps['hostClient'] = {
      ask: async ({ name }): Promise<HostAnswer> => {
        asked.push(name);
        const repository = found(name);
        if (!repository) return { kind: 'refused', reason: 'no-access' };
        const { id: linkedId, organizationId = '5', isPublic = false } = repository;
        return { kind: 'granted', grant, linkedId, organizationId, isPublic };
      },
      look: async ({ name }) => {
        looked.push(name);
        const repository = found(name);
        return { linkedId: repository?.isPublic ? repository.id : null };
      },
    };
    deps = memoryDeps({ clock, hostClient, gitHosts: [github] });
    for (const tenant of ['acme', 'other']) await deps.ledger.createTenant(newTenant(tenant));
  });

  it('has its people in every repo that is there, by its name, with no step for each', async () => {
    expect(await login()).toEqual({ kind: 'refused' });
    expect(asked).toEqual([]);
    await link();
    there.set('Acme-Org/art', { id: '78' });
    expect(await login()).toMatchObject({ kind: 'granted', grant, tenant: { tenant: 'acme' } });
    expect(await login('art')).toMatchObject({ kind: 'granted' });
    expect(await login('absent')).toEqual({ kind: 'refused' });
    expect(await login('game', 'other')).toEqual({ kind: 'refused' });
    expect(asked).toEqual(['Acme-Org/game', 'Acme-Org/art', 'Acme-Org/absent']);
    expect(await pin()).toMatchObject({ repo: 'game', linkedId: '77' });
    expect(await pin('absent')).toBeUndefined();
  });

  it('asks for no name that a repository cannot have', async () => {
    await link();
    for (const repo of ['..', '.', 'x.git', 'a/b', 'ä'])
      expect(await login(repo)).toEqual({ kind: 'refused' });
    expect(asked).toEqual([]);
  });

  it('refuses a repository that has taken the place of the one that was used', async () => {
    await link();
    await login();
    there.set('Acme-Org/game', { id: '99' });
    expect(await login()).toEqual({ kind: 'refused' });
    expect(await pin()).toMatchObject({ linkedId: '77' });
    // To be linked anew, to the same or with another ceiling, changes nothing of that.
    clock.advance(1);
    await link();
    await link({ publicRead: { monthlyLimitBytes: 5 } });
    expect(await login()).toEqual({ kind: 'refused' });
    // Whoever ends the link says that all begins anew.
    await deps.tenantLinks.end({ tenant: 'acme', atMs: clock.nowMs() });
    expect(await login()).toEqual({ kind: 'refused' });
    clock.advance(1);
    await link();
    expect(await login()).toMatchObject({ kind: 'granted' });
    expect(await pin()).toMatchObject({ linkedId: '99' });
  });

  it('has another repository if the repo was deleted here, and nobody while it is', async () => {
    await link();
    await login();
    const path = { tenant: 'acme', repo: 'game' };
    clock.advance(minute);
    const closedAtMs = clock.nowMs();
    await deps.ledger.closeRepo({ ...path, closedAtMs });
    expect(await login()).toEqual({ kind: 'refused' });
    await deps.ledger.openRepo({ ...path, closedAtMs });
    there.set('Acme-Org/game', { id: '99' });
    clock.advance(minute);
    expect(await login()).toMatchObject({ kind: 'granted' });
    expect(await pin()).toMatchObject({ linkedId: '99' });
    await deps.ledger.closeTenant({ tenant: 'acme', closedAtMs: clock.nowMs() });
    expect(await login()).toEqual({ kind: 'refused' });
  });

  it('lets nobody in by repositories of another organization that has the name now', async () => {
    await link();
    expect(await login()).toMatchObject({ kind: 'granted' });
    // The organization is renamed, and a stranger takes its old name.
    there = new Map([
      ['Acme-Org/game', { id: '901', organizationId: '6' }],
      ['Acme-Org/art', { id: '902', organizationId: '6', isPublic: true }],
    ]);
    expect(await login()).toEqual({ kind: 'refused' });
    expect(await login('art')).toEqual({ kind: 'refused' });
    expect(await pin('art')).toBeUndefined();
    // A change of the ceiling keeps what was noted; a new link notes it anew.
    await link({ publicRead: { monthlyLimitBytes: null } });
    expect(await login('art')).toEqual({ kind: 'refused' });
    await deps.tenantLinks.end({ tenant: 'acme', atMs: clock.nowMs() });
    clock.advance(minute);
    await link();
    expect(await login('art')).toMatchObject({ kind: 'granted' });
  });

  it('leaves a repo alone that is linked itself', async () => {
    await link();
    const mark = { repo: 'game', host: 'github', name: 'else/where', linkedId: null, sinceMs: clock.nowMs() };
    await deps.linkedRepos.put({ tenant: 'acme', mark });
    there.set('else/where', { id: '5' });
    expect(await login()).toMatchObject({ kind: 'granted' });
    expect(asked).toEqual(['else/where']);
    expect(await pin()).toBeUndefined();
  });

  it('notes no more repositories than one may have', async () => {
    await link();
    await deps.tenantLinks.change('acme', (now) => now && { ...now, pinnedCount: pinnedReposMax - 1 });
    there.set('Acme-Org/art', { id: '78' });
    expect(await login()).toMatchObject({ kind: 'granted' });
    expect(await login('art')).toEqual({ kind: 'refused' });
    expect(await login()).toMatchObject({ kind: 'granted' });
  });

  it('costs strangers the same reads, whichever repo they ask for', async () => {
    const reads = async (repo: string, tenant = 'acme') => {
      let count = 0;
      const counted = <T extends object>(store: T): T =>
        new Proxy(store, {
          get: (target, name) => {
            const value: unknown = Reflect.get(target, name);
            if (typeof value !== 'function') return value;
            return (...input: unknown[]) => {
              count += 1;
              return value.apply(target, input);
            };
          },
        });
      const { linkedRepos, tenantLinks, keptGrants, ledger } = deps;
      const counting = {
        ...deps,
        linkedRepos: counted(linkedRepos),
        tenantLinks: counted(tenantLinks),
        keptGrants: counted(keptGrants),
        ledger: counted(ledger),
      };
      tokens += 1;
      const credential = `ghp_0123456789-${tokens}`;
      there.delete(`Acme-Org/${repo}`);
      expect(await authenticateHostUser(counting, { tenant, repo, credential })).toEqual({ kind: 'refused' });
      return count;
    };
    expect([await reads('game'), await reads('game', 'absent')]).toEqual([2, 2]);
    await link();
    there.set('Acme-Org/game', { id: '77' });
    await login();
    // It was used; there is none of the name.
    expect([await reads('game'), await reads('absent')]).toEqual([5, 5]);
  });

  describe('for those who have no token', () => {
    const path = { tenant: 'acme', repo: 'game' };
    const open = async (repo = 'game') => (await findPublicRepo(deps, { ...path, repo }))?.publicRead;
    const limit = { publicRead: { monthlyLimitBytes: 5000 } };

    beforeEach(() => void there.set('Acme-Org/game', { id: '77', isPublic: true }));

    it('has what is public there only below a ceiling, and only once a person has used it', async () => {
      await link();
      await login();
      expect(await open()).toBeUndefined();
      await link(limit);
      expect(await open()).toMatchObject({ repo: 'game', monthlyLimitBytes: 5000 });
      there.set('Acme-Org/art', { id: '78', isPublic: true });
      expect(await open('art')).toBeUndefined();
      expect(looked).toEqual([]);
      await login('art');
      expect(await open('art')).toMatchObject({ repo: 'art', monthlyLimitBytes: 5000 });
    });

    it('asks the host once an hour, however many ask', async () => {
      await link(limit);
      await login();
      clock.advance(hour - 1);
      await open();
      expect(looked).toEqual([]);
      clock.advance(1);
      const all = await Promise.all(Array.from({ length: 20 }, () => open()));
      expect(all.every((each) => each !== undefined)).toBe(true);
      expect(looked).toEqual(['Acme-Org/game']);
      clock.advance(hour - 1);
      await open();
      expect(looked).toHaveLength(1);
    });

    it('has it no longer once it is private there: in an hour, or when a person uses it', async () => {
      await link(limit);
      await login();
      there.set('Acme-Org/game', { id: '77' });
      expect(await open()).toBeDefined();
      clock.advance(hour);
      expect(await open()).toBeUndefined();
      // Then it is asked for no more: nobody learns that there is such a repository.
      clock.advance(9 * hour);
      expect(await open()).toBeUndefined();
      expect(looked).toHaveLength(1);
      there.set('Acme-Org/game', { id: '77', isPublic: true });
      await login();
      expect(await open()).toBeDefined();
      there.set('Acme-Org/game', { id: '77' });
      await login();
      expect(await open()).toBeUndefined();
    });

    it('does not take another repository of the name for it', async () => {
      await link(limit);
      await login();
      there.set('Acme-Org/game', { id: '99', isPublic: true });
      clock.advance(hour);
      expect(await open()).toBeUndefined();
    });

    it('goes by the last word of a host that does not answer, for a day', async () => {
      await link(limit);
      await login();
      isDown = true;
      clock.advance(hour);
      expect(await open()).toBeDefined();
      expect(await open()).toBeDefined();
      expect(looked).toHaveLength(1);
      clock.advance(minute);
      await open();
      expect(looked).toHaveLength(2);
      clock.advance(23 * hour - minute - 1);
      expect(await open()).toBeDefined();
      clock.advance(minute);
      expect(await open()).toBeUndefined();
      isDown = false;
      clock.advance(minute);
      expect(await open()).toBeDefined();
    });

    it('is not for a repo that is linked itself, or is being deleted, and ends with the link', async () => {
      await link(limit);
      await login();
      const mark = { repo: 'game', host: 'github', name: 'else/where', linkedId: null, sinceMs: 1 };
      await deps.linkedRepos.put({ tenant: 'acme', mark });
      expect(await open()).toBeUndefined();
      await deps.linkedRepos.end({ ...path, atMs: 2 });
      expect(await open()).toBeDefined();
      await deps.ledger.closeRepo({ ...path, closedAtMs: clock.nowMs() + 1 });
      expect(await open()).toBeUndefined();
      await deps.ledger.openRepo({ ...path, closedAtMs: clock.nowMs() + 1 });
      expect(await open()).toBeUndefined();
      clock.advance(minute);
      await login();
      expect(await open()).toBeDefined();
      await deps.tenantLinks.end({ tenant: 'acme', atMs: clock.nowMs() });
      expect(await open()).toBeUndefined();
    });
  });

  it('forgets what was used once the tenant is deleted', async () => {
    await link();
    await login();
    expect(await deps.tenantLinks.endSomePins({ tenant: 'acme', atMs: clock.nowMs() })).toEqual({
      hasMore: false,
    });
    expect(await pin()).toBeUndefined();
  });
});
