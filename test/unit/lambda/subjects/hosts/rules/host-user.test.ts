import { describe, expect, it } from 'vitest';
import { nameOfHostUser } from '../../../../../../lambda/frame/access/rules/host-user.ts';
import {
  grantKeyOf,
  type HostVerdict,
  KnownHostUsers,
  mayBeHostToken,
  verdictsMax,
} from '../../../../../../lambda/subjects/hosts/rules/host-client.ts';

const refused: HostVerdict = { kind: 'refused', reason: 'no-access' };

describe('what a process knows of people', () => {
  it('is kept until its time is over', () => {
    const known = new KnownHostUsers();
    expect(known.find('a', 0)).toBeUndefined();
    known.keep('a', refused, 10);
    expect(known.find('a', 9)).toBe(refused);
    expect(known.find('b', 9)).toBeUndefined();
    expect(known.find('a', 10)).toBeUndefined();
    expect(known.find('a', 9)).toBeUndefined();
  });

  it('is replaced by what is newer', () => {
    const known = new KnownHostUsers();
    const limited: HostVerdict = { kind: 'limited', untilMs: 5 };
    known.keep('a', refused, 10);
    known.keep('a', limited, 5);
    expect(known.find('a', 4)).toBe(limited);
    expect(known.find('a', 5)).toBeUndefined();
  });

  it('is bounded: the oldest is forgotten', () => {
    const known = new KnownHostUsers();
    for (let index = 0; index < verdictsMax; index += 1) known.keep(`k${index}`, refused, 10);
    expect(known.find('k0', 0)).toBe(refused);
    known.keep('k0', refused, 10);
    known.keep('one more', refused, 10);
    expect(known.find('k0', 0)).toBe(refused);
    expect(known.find('k1', 0)).toBeUndefined();
    expect(known.find('k2', 0)).toBe(refused);
    expect(known.find('one more', 0)).toBe(refused);
  });

  it('knows whom a host let in, until it refuses them, whatever else is asked about', () => {
    const known = new KnownHostUsers();
    const grant = { hostUser: { id: 'github:1', login: 'ada' }, access: 'read' } as const;
    known.keep('ada', { kind: 'granted', grant }, 10);
    expect(known.find('ada', 10)).toBeUndefined();
    for (let index = 0; index <= verdictsMax; index += 1) known.keep(`k${index}`, refused, 10);
    known.keep('ada', { kind: 'limited', untilMs: 20 }, 20);
    expect([known.wasLetIn('ada'), known.wasLetIn('k1')]).toEqual([true, false]);
    known.keep('ada', refused, 30);
    expect(known.wasLetIn('ada')).toBe(false);
    for (let index = 0; index <= verdictsMax; index += 1)
      known.keep(`p${index}`, { kind: 'granted', grant }, 10);
    expect([known.wasLetIn('p0'), known.wasLetIn('p1')]).toEqual([false, true]);
  });

  it('is asked once for all who ask at the same time, and anew afterwards, also after an error', async () => {
    const known = new KnownHostUsers();
    let asked = 0;
    const ask = async () => {
      asked += 1;
      await Promise.resolve();
      if (asked === 2) throw new Error('broken');
      return refused;
    };
    expect(await Promise.all([known.askOnce('a', ask), known.askOnce('a', ask)])).toEqual([refused, refused]);
    expect(asked).toBe(1);
    await expect(Promise.all([known.askOnce('a', ask), known.askOnce('a', ask)])).rejects.toThrow('broken');
    expect(asked).toBe(2);
    await Promise.all([known.askOnce('a', ask), known.askOnce('b', ask)]);
    expect(asked).toBe(4);
  });
});

describe('a password', () => {
  it.each([
    ['as hosts make them', ['ghp_0123456789abcdefghij0123456789abcdef', 'github_pat_11ABCDEFG0_abcdef']],
    ['as others make them', ['glpat-0123456789abcdefghij', '0123456789abcdef0123456789abcdef01234567']],
    ['almost as long as the admin token', ['a'.repeat(42), 'a'.repeat(44)]],
    ['with dots, hyphens and underscores', ['a.b.c-d_e', 'not-lfsq_ours']],
    ['of 8 to 512 characters', ['12345678', 'x'.repeat(512)]],
  ])('may be a token for a host: %s', (_what, texts) => {
    for (const text of texts) expect([text, mayBeHostToken(text)]).toEqual([text, true]);
  });

  it.each([
    ['a token of ours', [`lfsq_${'a'.repeat(43)}`, 'lfsq_short', `lfsv_${'a'.repeat(30)}`]],
    ['a session', [`0123456789abcdef.lfss_${'a'.repeat(40)}`, `operator.lfss_${'a'.repeat(40)}`]],
    ['a token of ours in something else', [`bearer:lfsq_${'a'.repeat(40)}`]],
    ['the admin token of a deployed stage', [`${'aB3'.repeat(14)}x`]],
    ['too few or too many characters', ['', '1234567', 'x'.repeat(513)]],
    ['other characters', ['with space here', 'line\nbreak-in-it', 'ünïcödé-token']],
  ])('is never sent to a host: %s', (_what, texts) => {
    for (const text of texts) expect([text, mayBeHostToken(text)]).toEqual([text, false]);
  });
});

describe('the key of a grant', () => {
  const of = {
    tenant: 'acme',
    repo: 'game',
    host: 'github',
    name: 'acme/game',
    sinceMs: 1,
    credential: 'secret-token',
  };

  it('is a hash, and another for each thing that counts', () => {
    const key = grantKeyOf(of);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(grantKeyOf({ ...of })).toBe(key);
    const others = [
      { tenant: 'acme2' },
      { repo: 'game2' },
      { host: 'gitlab' },
      { name: 'acme/other' },
      { sinceMs: 2 },
      { credential: 'secret-tokem' },
      { tenant: 'acme","game' },
    ].map((other) => grantKeyOf({ ...of, ...other }));
    expect(new Set([key, ...others]).size).toBe(8);
  });
});

it('the name of a person says whose person they are', () => {
  expect(nameOfHostUser({ id: 'github:1234', login: 'ada' })).toBe('ada (github)');
});
