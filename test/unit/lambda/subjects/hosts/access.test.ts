import { beforeEach, describe, expect, it } from 'vitest';
import {
  GitHostUnavailableError,
  type HostAnswer,
} from '../../../../../lambda/subjects/hosts/rules/host-client.ts';
import { type LfsAccessDeps, lfsAccess, RejectedLogins } from '../../../../../lambda/subjects/lfs/access.ts';
import { httpEvent } from '../../../../support/http-event.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const own = `lfsq_${'a'.repeat(43)}`;
const theirs = 'ghp_0123456789';
const hosts = [
  { id: 'github', kind: 'github', url: 'https://api.github.com' },
  { id: 'forge', kind: 'gitea', url: 'https://git.example.com' },
] as const;
const hostUser = { id: 'github:1234', login: 'ada' };

/** A tenant `acme` with a linked repo `game`, and one that is not, `film`. */
describe('who asks for a repo', () => {
  let clock: ManualClock;
  let asked: string[];
  let answer: () => HostAnswer;
  let deps: LfsAccessDeps;

  beforeEach(async () => {
    clock = new ManualClock();
    asked = [];
    answer = () => ({
      kind: 'granted',
      grant: { hostUser, access: 'read' },
      linkedId: '7',
      organizationId: '5',
      isPublic: false,
    });
    const memory = memoryDeps({
      clock,
      gitHosts: hosts,
      hostClient: {
        ask: async ({ token }) => {
          asked.push(token);
          clock.advance(120);
          return answer();
        },
        look: () => Promise.reject(new Error('Nobody looks.')),
      },
    });
    deps = { ...memory, rejectedLogins: new RejectedLogins(clock) };
    const account = { plan: null, limitBytes: null, createdAtMs: 1, scanned: null, dueAtMs: 1 };
    await memory.ledger.createTenant({ ...account, tenant: 'acme' });
    await memory.tokens.put(tokenRecord(own, { tenant: 'acme' }));
    const linked = { repo: 'game', host: 'github', name: 'acme/game', linkedId: null, sinceMs: 1 };
    await memory.linkedRepos.put({ tenant: 'acme', mark: linked });
  });

  async function ask(
    password: string | undefined,
    { tenant = 'acme', repo = 'game', scheme = 'Basic' } = {},
  ) {
    const value = scheme === 'Basic' ? Buffer.from(`any:${password}`).toString('base64') : password;
    const headers: Record<string, string> =
      password === undefined ? {} : { authorization: `${scheme} ${value}` };
    const beganMs = clock.nowMs();
    const access = await lfsAccess(deps, httpEvent({ headers, pathParameters: { tenant, repo } }));
    return { access, tookMs: clock.nowMs() - beganMs };
  }

  const told = async (...input: Parameters<typeof ask>) => {
    const { access, tookMs } = await ask(...input);
    if (access.ok) throw new Error('It was let in.');
    const { statusCode, headers, body } = access.response;
    return { statusCode, headers, body, isAnybody: access.isAnybody, tookMs };
  };

  it('is somebody with a token of ours, which no host ever sees', async () => {
    for (const scheme of ['Basic', 'Bearer']) {
      const { access, tookMs } = await ask(own, { scheme });
      expect(access).toMatchObject({ ok: true, token: { scope: 'write' }, takesPushes: true });
      expect(tookMs).toBe(0);
    }
    await told(`lfsq_${'b'.repeat(43)}`);
    await told(`${'A1'.repeat(21)}x`);
    expect(asked).toEqual([]);
  });

  it('is a person with their token for the host, for what they may do there', async () => {
    for (const access of ['read', 'write'] as const) {
      answer = () => ({
        kind: 'granted',
        grant: { hostUser, access },
        linkedId: '7',
        organizationId: '5',
        isPublic: false,
      });
      const found = await ask(`${theirs}-${access}`, { scheme: access === 'read' ? 'Basic' : 'Bearer' });
      expect(found.access).toEqual({
        ok: true,
        tenant: expect.objectContaining({ tenant: 'acme' }),
        repo: 'game',
        repoObjects: undefined,
        isRepoKnown: false,
        isOfLfs: false,
        takesPushes: true,
        isOneTooMany: false,
        watch: undefined,
        storageClass: null,
        token: { tokenId: 'github:1234', scope: access, user: null, label: null, hostUser },
      });
    }
    expect(asked).toEqual([`${theirs}-read`, `${theirs}-write`]);
  });

  it('is told the same, whatever the reason, and no request waits', async () => {
    const { tookMs, ...first } = await told(theirs, { repo: 'film' });
    expect(first).toMatchObject({ statusCode: 401, isAnybody: false });
    expect(tookMs).toBe(0);
    expect(first.body).toMatch(/has no access to this repo on github or forge\. .* connect acme film/);
    const others = [
      { tenant: 'absent', repo: 'film', place: 'absent film' },
      { tenant: 'NO NAME', repo: 'film', place: 'TENANT film' },
      { repo: '%2e%2e', place: 'acme REPO' },
    ] as const;
    const inPlace = (place: string) => ({ ...first, body: first.body?.replace('acme film', place) });
    for (const [index, { place, ...other }] of others.entries())
      expect(await told(`${theirs}${index}`, other)).toEqual({ ...inPlace(place), tookMs: 0 });
    for (const reason of ['token-rejected', 'no-access', 'moved', 'too-many-new'] as const) {
      answer = () => ({ kind: 'refused', reason });
      // As long as the host took.
      expect(await told(`${theirs}-${reason}`)).toEqual({ ...inPlace('acme game'), tookMs: 120 });
      // Without asking the host.
      expect(await told(`${theirs}-${reason}`)).toEqual({ ...inPlace('acme game'), tookMs: 0 });
    }
    expect(asked).toHaveLength(4);
  });

  it('is told at once where the stage has no hosts, and nothing of any', async () => {
    deps = { ...deps, logins: [] };
    const answered = await told(theirs);
    expect(answered).toMatchObject({ statusCode: 401, tookMs: 0 });
    expect(answered.body).not.toMatch(/github|forge/);
    expect(asked).toEqual([]);
  });

  it('is told by a 403 what to do when they repeat themselves', async () => {
    answer = () => ({ kind: 'refused', reason: 'token-rejected' });
    for (let times = 0; times < 3; times += 1) expect((await told(theirs)).statusCode).toBe(401);
    const last = await told(theirs);
    expect(last).toMatchObject({ statusCode: 403, isAnybody: false });
    expect(last.body).toMatch(
      /invalid, expired or revoked, or its user has no access to this repo on github or forge/,
    );
    const ofFilm = await told(theirs, { repo: 'film' });
    expect(ofFilm.body).toBe(last.body?.replace('connect acme game', 'connect acme film'));
    const ofNone = await told(theirs, { repo: '%2e%2e', tenant: 'NO NAME' });
    expect(ofNone.body).toContain('lfs-quota connect TENANT REPO');
  });

  it('is told that the host does not answer, or when it takes questions again', async () => {
    answer = () => {
      throw new GitHostUnavailableError('down');
    };
    const down = await told(theirs);
    expect(down).toMatchObject({ statusCode: 503, isAnybody: false, headers: { 'retry-after': '5' } });
    expect(down.body).toMatch(/Can't reach github to check your token/);
    answer = () => ({ kind: 'limited', retryAfterMs: 61_500 });
    const limited = await told(`${theirs}1`);
    expect(limited).toMatchObject({ statusCode: 429, isAnybody: false, headers: { 'retry-after': '62' } });
    expect(limited.body).toMatch(/github limits token checks. Retry in 62 s,/);
  });

  it('is somebody who has to log in, without credentials, and is told at once', async () => {
    const { tookMs, ...answered } = await told(undefined);
    expect(answered).toMatchObject({ statusCode: 401, isAnybody: true });
    expect(answered.body).toMatch(/on github or forge, your github or forge token works too/);
    expect(tookMs).toBe(0);
  });
});

const repeated = (logins: RejectedLogins, credential: string, times: number) =>
  Array.from({ length: times }, () => logins.isRepeated(credential));

it('takes the fourth rejection of a credential within a minute for a repetition', () => {
  const clock = new ManualClock();
  const logins = new RejectedLogins(clock);
  expect(repeated(logins, 'bad', 5)).toEqual([false, false, false, true, true]);
  expect(repeated(logins, 'other', 3)).toEqual([false, false, false]);
});

it('forgets after a minute', async () => {
  const clock = new ManualClock();
  const logins = new RejectedLogins(clock);
  repeated(logins, 'bad', 5);
  await clock.sleep(60_000);
  expect(repeated(logins, 'bad', 4)).toEqual([false, false, false, true]);
});

it('remembers only so many credentials', () => {
  const logins = new RejectedLogins(new ManualClock());
  repeated(logins, 'first', 3);
  for (let index = 0; index < 10_000; index += 1) logins.isRepeated(`token-${index}`);
  expect(logins.isRepeated('first')).toBe(false);
  expect(repeated(logins, 'token-9999', 3)).toEqual([false, false, true]);
});
