import { describe, expect, it } from 'vitest';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import {
  PrefixSet,
  prefixBytes,
  prefixesMax,
  prefixesOf,
  prefixText,
  TooManyPrefixesError,
} from '../../../../../lambda/core/rules/prefix-set.ts';

const oids = Array.from({ length: 1000 }, (_, index) => sha256Hex(`object ${index}`));
const [first = '', second = ''] = oids;

describe('the prefixes of oids', () => {
  it('are their first 8 bytes, in ascending order', () => {
    const bytes = prefixesOf([`${'ff'.repeat(8)}${'00'.repeat(24)}`, `${'01'.repeat(8)}${'aa'.repeat(24)}`]);
    expect(bytes.toString('hex')).toBe('01'.repeat(8) + 'ff'.repeat(8));
    expect(prefixesOf([]).length).toBe(0);
  });

  it('take 11 characters each as text', () => {
    expect(prefixText(oids.slice(0, 99))).toHaveLength((99 * prefixBytes * 4) / 3);
  });
});

describe('a set of prefixes', () => {
  it('has what was added, and nothing else', () => {
    const set = new PrefixSet();
    set.add(prefixesOf(oids.slice(0, 400)));
    for (const oid of oids.slice(0, 400)) expect(set.has(oid)).toBe(true);
    for (const oid of oids.slice(400)) expect(set.has(oid)).toBe(false);
    expect(set.size).toBe(400);
  });

  it('takes more after it was asked, in any order, and several times', () => {
    const set = new PrefixSet();
    expect(set.has(first)).toBe(false);
    set.addText(prefixText([first]));
    expect(set.has(first)).toBe(true);
    set.add(Buffer.from(`${second.slice(0, 16)}${first.slice(0, 16)}`, 'hex'));
    set.add(prefixesOf(oids.slice(500)));
    expect([set.has(first), set.has(second), set.has(oids[999] ?? ''), set.has(oids[2] ?? '')]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(set.size).toBe(503);
  });

  it('takes whoever begins with the same bytes for the same object', () => {
    const set = new PrefixSet();
    set.add(prefixesOf([first]));
    expect(set.has(first.slice(0, 16) + second.slice(16))).toBe(true);
    expect(set.has(first.slice(0, 15) + second.slice(15))).toBe(first[15] === second[15]);
  });

  it('passes over what is no whole prefix at the end of what was added', () => {
    const set = new PrefixSet();
    set.add(Buffer.from(first.slice(0, 24), 'hex'));
    set.add(Buffer.from(second.slice(0, 16), 'hex'));
    expect([set.has(first), set.has(second), set.size]).toEqual([true, true, 2]);
  });

  it('has a bound', () => {
    const set = new PrefixSet();
    set.add(new Uint8Array(prefixesMax * prefixBytes));
    const addOne = () => set.add(new Uint8Array(prefixBytes));
    expect(addOne).toThrow(TooManyPrefixesError);
    expect(addOne).toThrow('There are more than 5000000 names.');
    expect(new TooManyPrefixesError().name).toBe('TooManyPrefixesError');
  });
});
