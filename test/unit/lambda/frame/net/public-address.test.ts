import { expect, it } from 'vitest';
import { isPublicAddress } from '../../../../../lambda/frame/net/public-address.ts';

it.each([
  ['well-known ones', '1.1.1.1 8.8.8.8 2606:4700:4700::1111 2a00:1450:4001::1 2001:4860:4860::8888'],
  [
    'those around private ones',
    '9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0',
  ],
  ['those around shared ones', '100.63.255.255 100.128.0.0'],
  ['those around loopback', '126.255.255.255 128.0.0.0'],
  ['those around link-local ones', '169.253.255.255 169.255.0.0'],
  ['those around assignments and benchmarks', '192.0.1.0 198.17.255.255 198.20.0.0'],
  ['the last before multicast', '223.255.255.255'],
  ['the edges of IPv6', '2600:: 3ffe::1'],
])('public are %s: %s', (_what, addresses) => {
  for (const address of addresses.split(' '))
    expect([address, isPublicAddress(address)]).toEqual([address, true]);
});

it.each([
  ['this network', '0.0.0.0 0.1.2.3'],
  ['private ones', '10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255'],
  ['shared ones', '100.64.0.1 100.127.255.255'],
  ['loopback', '127.0.0.1 127.255.255.255'],
  ['link-local ones, such as credentials of a role', '169.254.0.1 169.254.169.254 169.254.170.2'],
  ['assignments of the protocol', '192.0.0.1 192.0.0.192'],
  ['documentation', '192.0.2.1 198.51.100.1 203.0.113.1'],
  ['benchmarks', '198.18.0.1 198.19.255.255'],
  ['the relay of 6to4', '192.88.99.1'],
  ['multicast, reserved, broadcast', '224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255'],
  ['unspecified and loopback in IPv6', ':: ::1'],
  ['mapped and compatible ones', '::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:a9fe:a9fe ::8.8.8.8'],
  ['NAT64', '64:ff9b::8.8.8.8 64:ff9b::a9fe:a9fe 64:ff9b:1::1'],
  ['unique local ones', 'fc00::1 fd00:ec2::254 fdff::1'],
  ['link-local and site-local ones in IPv6', 'fe80::1 febf::1 fe80::1%eth0 fec0::1'],
  ['multicast and discard in IPv6', 'ff02::1 100::1'],
  ['what is not assigned', '5f00::1 4000::1 1fff::1'],
  [
    'Teredo, ORCHID, benchmarks, documentation',
    '2001::1 2001:0:4136:e378::1 2001:2::1 2001:20::1 2001:db8::1 3fff::1',
  ],
  ['6to4 of private and of public addresses', '2002:7f00:1:: 2002:808:808::1'],
  ['one with a zone', '2606:4700::1%eth0'],
  ['what is no address', 'localhost 1.2.3 0x7f.0.0.1 2130706433 127.1 ::g'],
])('public are not %s: %s', (_what, addresses) => {
  for (const address of addresses.split(' '))
    expect([address, isPublicAddress(address)]).toEqual([address, false]);
});

it.each(['', ' 8.8.8.8'])('public is not %j', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});
