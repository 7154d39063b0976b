import { describe, expect, it } from 'vitest';
import { commandsOf } from '../../../cli/help.ts';
import { renamed } from '../../../cli/old-names.ts';
import { oldNames } from '../../../cli/program.ts';
import { cli, programForTest } from './harness.ts';

/** Of these lines. */
const takesValue = (_: string, option: string) => ['--repo', '--sort', '--name', '--data'].includes(option);

describe('an old name of a command', () => {
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
    ['object delete --yes acme game x', 'files delete --tenant acme --repo game x --yes'],
    [
      'object search --sort newest acme game x --json',
      'files search --tenant acme --repo game x --sort newest --json',
    ],
    ['object list acme --repo game', 'files list --tenant acme --repo game'],
    ['object --help', 'files --help'],
    ['webhook delete --json acme', 'alert remove acme webhook --json'],
    ['object search acme game', 'files search --tenant acme --repo game'],
    ['webhook delete acme', 'alert remove acme webhook'],
    ['email add acme a@example.com', 'alert add acme a@example.com'],
    ['status --json', 'check --health --json'],
    ['table export --name t f', 'table backup f --name t'],
    ['backup --data d f', 'table backup f --data d'],
  ])('%s is %s', (line, meant) => {
    expect(renamed(line.split(' '), oldNames, takesValue)?.args.join(' ')).toBe(meant);
  });

  it('is no other command', () => {
    for (const line of ['table rebuild', 'usage acme', 'files list', ''])
      expect(renamed(line.split(' '), oldNames, takesValue)).toBeUndefined();
  });

  it('takes the value of an option for no operand', async () => {
    const { code, err } = await cli([
      'object',
      'delete',
      '--url',
      'http://127.0.0.1:1',
      'acme',
      'game',
      'x',
      '--token',
      't',
      '--yes',
    ]);
    expect([code, err]).toEqual([6, expect.stringContaining('http://127.0.0.1:1')]);
  });

  it('says the new one, and works', async () => {
    const { code, out, err } = await cli(['reservation', 'cancel', '--help']);
    expect([code, out]).toEqual([0, expect.stringContaining('Usage: lfs-quota scan cancel-uploads ')]);
    expect(err).toBe(
      '`lfs-quota reservation cancel` is `lfs-quota scan cancel-uploads` now. The old name works until 0.2.\n',
    );
  });
});
