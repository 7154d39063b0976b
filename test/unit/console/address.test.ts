import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Address,
  formatAddress,
  mayOpen,
  nearestAddress,
  parseAddress,
  repoAddress,
  repoTabs,
  tenantAddress,
  titleOf,
} from '../../../console/src/address.ts';

const service: Address = { view: 'tenants', tenant: null, repo: null, tab: 'overview', query: {} };

const known: readonly (readonly [string, Address])[] = [
  ['#', service],
  ['#_status', { ...service, view: 'status' }],
  ['#acme', tenantAddress('acme')],
  ['#acme/repos', tenantAddress('acme', 'repos')],
  ['#acme/objects', tenantAddress('acme', 'objects')],
  ['#acme/activity', tenantAddress('acme', 'activity')],
  ['#acme/access', tenantAddress('acme', 'access')],
  ['#acme/settings', tenantAddress('acme', 'settings')],
  ['#acme/repos/game', repoAddress('acme', 'game')],
  ['#acme/repos/Game.Assets_2/locks', repoAddress('acme', 'Game.Assets_2', 'locks')],
  [
    '#acme/objects?repo=game&by=oldest',
    { ...tenantAddress('acme', 'objects'), query: { repo: 'game', by: 'oldest' } },
  ],
  ['#_status?x=%26%3D+%23', { ...service, view: 'status', query: { x: '&= #' } }],
];

describe('the address behind #', () => {
  it.each(known)('%s is read and written', (text, address) => {
    expect(parseAddress(text)).toEqual(address);
    expect(formatAddress(address)).toBe(text);
  });

  it.each([
    ['', service],
    ['#/', service],
    ['#_nothing', service],
    ['#Acme', service],
    ['#%', service],
    ['#__proto__', service],
    ['#constructor/repos', tenantAddress('constructor', 'repos')],
    ['#acme/', tenantAddress('acme')],
    ['#acme/nothing', tenantAddress('acme')],
    ['#acme/constructor', tenantAddress('acme')],
    ['#acme/repo', tenantAddress('acme')],
    ['#acme/repos/', tenantAddress('acme', 'repos')],
    ['#acme/repos/..', tenantAddress('acme', 'repos')],
    ['#acme/repos/a%2Fb', tenantAddress('acme', 'repos')],
    ['#acme/repos/%E0%A4%A', tenantAddress('acme', 'repos')],
    ['#acme/repos/game/nothing', repoAddress('acme', 'game')],
    ['#acme/repos/game/objects/more', repoAddress('acme', 'game', 'objects')],
  ] as const)('%j leads to the nearest view', (text, address) => {
    expect(parseAddress(text)).toEqual(address);
  });

  it('is the same after it was written and read, whatever its filters are', () => {
    const query = fc
      .dictionary(fc.string(), fc.string({ minLength: 1 }), { maxKeys: 4 })
      .map((each): Record<string, string> => Object.fromEntries(Object.entries(each)));
    fc.assert(
      fc.property(
        fc.constantFrom(...known),
        fc.constantFrom(...repoTabs),
        query,
        ([, base], tab, filters) => {
          const address = { ...base, tab: base.view === 'repo' ? tab : base.tab, query: filters };
          expect(parseAddress(formatAddress(address))).toEqual(address);
        },
      ),
    );
  });

  it('is some view, whatever somebody types', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const address = parseAddress(text);
        expect(titleOf(address)).not.toBe('');
        expect(parseAddress(formatAddress(address))).toEqual(address);
      }),
    );
  });

  it('without a value has no filter', () => {
    expect(formatAddress({ ...tenantAddress('acme', 'repos'), query: { find: '' } })).toBe('#acme/repos');
  });
});

describe('whoever has signed in', () => {
  const operator = { tenant: null, mayManage: true };
  const manager = { tenant: 'acme', mayManage: true };
  const reader = { tenant: 'acme', mayManage: false };

  it.each([
    [operator, '#', '#'],
    [operator, '#other/access', '#other/access'],
    [manager, '#', '#acme'],
    [manager, '#_status', '#acme'],
    [manager, '#other/repos/game', '#acme'],
    [manager, '#acme/access', '#acme/access'],
    [reader, '#acme/access', '#acme'],
    [reader, '#acme/settings', '#acme'],
    [reader, '#acme/activity', '#acme'],
    [reader, '#acme/repos/game/settings', '#acme/repos/game/settings'],
    [reader, '#acme/objects?by=oldest', '#acme/objects?by=oldest'],
  ])('%o at %s sees %s', (who, text, shown) => {
    expect(formatAddress(nearestAddress(parseAddress(text), who))).toBe(shown);
  });

  it('is offered nothing that the role may not open', () => {
    expect(mayOpen('access', reader)).toBe(false);
    expect(mayOpen('access', manager)).toBe(true);
    expect(mayOpen('repos', reader)).toBe(true);
  });
});
