import { describe, expect, it } from 'vitest';
import { commandsOf } from '../../../cli/help.ts';
import { renamed } from '../../../cli/old-names.ts';
import { oldNames } from '../../../cli/program.ts';
import { cli, programForTest } from './harness.ts';

describe('the name of a command in the last release', () => {
  it.each(Object.entries(oldNames))('%s is a command now: %s', (was, now) => {
    const words = now.replace(/ [-$].*/, '');
    const leaves = commandsOf(programForTest()).map((leaf) => leaf.words);
    expect(leaves.some((leaf) => leaf === words || leaf.startsWith(`${words} `))).toBe(true);
    expect(leaves.some((leaf) => leaf === was || leaf.startsWith(`${was} `))).toBe(false);
  });

  it.each([
    ['object list', 'files list'],
    ['object list acme --repo game', 'files list --tenant acme --repo game'],
    ['object delete acme game a b --yes', 'files delete --tenant acme --repo game a b --yes'],
    ['object delete --yes acme', 'files delete --yes acme'],
    ['object search acme game', 'files search --tenant acme --repo game'],
    ['webhook delete acme', 'alert remove acme webhook'],
    ['email add acme a@example.com', 'alert add acme a@example.com'],
    ['status --json', 'check --health --json'],
    ['table export --name t f', 'table backup --name t f'],
    ['backup --data d f', 'table backup --data d f'],
  ])('%s is %s', (line, meant) => {
    expect(renamed(line.split(' '), oldNames)?.args.join(' ')).toBe(meant);
  });

  it('is no other command', () => {
    for (const line of ['table rebuild', 'usage acme', 'files list', ''])
      expect(renamed(line.split(' '), oldNames)).toBeUndefined();
  });

  it('says the new one, and works', async () => {
    const { code, out, err } = await cli(['reservation', 'cancel', '--help']);
    expect([code, out]).toEqual([0, expect.stringContaining('Usage: lfs-quota scan cancel-uploads ')]);
    expect(err).toBe(
      '`lfs-quota reservation cancel` is `lfs-quota scan cancel-uploads` now. The old name ends with the next release.\n',
    );
  });
});
