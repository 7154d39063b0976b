import { expect, it } from 'vitest';
import { networkOf } from '../../../../../lambda/core/rules/network.ts';

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['no address', 'no address'],
  ['2001:0DB8:0:12:1:2:3:4', '2001:db8:0:12'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['2001:db8:1:2:3:4:5::', '2001:db8:1:2'],
  ['2001:db8::4:5:6:7:8', '2001:db8:0:4'],
  ['::1', '0:0:0:0'],
  ['::', '0:0:0:0'],
  ['1::', '1:0:0:0'],
  ['fe80::1:2:3:4%eth0', 'fe80:0:0:0'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

it('a site has as many groups as one asks for', () => {
  expect(networkOf('2001:db8:1:2:3:4:5:6', 3)).toBe('2001:db8:1');
});
