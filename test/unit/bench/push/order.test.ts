import { describe, expect, it } from 'vitest';
import { orderOfRound } from '../../../../bench/push/order.ts';

const servers = ['ours', 'bound', 'one', 'other'];

describe('the order of the servers in a round', () => {
  it('begins with the next server in each round', () => {
    expect([0, 1, 2].map((round) => orderOfRound(servers, round))).toEqual([
      ['ours', 'bound', 'one', 'other'],
      ['bound', 'one', 'other', 'ours'],
      ['one', 'other', 'ours', 'bound'],
    ]);
  });

  it('lets each be in each place once in as many rounds as there are servers', () => {
    const rounds = servers.map((_, round) => orderOfRound(servers, servers.length + round));
    for (const [place] of servers.entries())
      expect(rounds.map((round) => round[place]).sort()).toEqual([...servers].sort());
  });

  it('leaves the list as it is, and has nothing to say of an empty one', () => {
    orderOfRound(servers, 3);
    expect(servers[0]).toBe('ours');
    expect(orderOfRound([], 2)).toEqual([]);
  });
});
