import { expect, it } from 'vitest';
import { readFlags } from '../../../local/flags.ts';

it('reads flags', () => {
  expect(readFlags([])).toEqual({ kind: 'start', port: 8787, dataDir: '.lfs-quota' });
  expect(readFlags(['--port', '0', '--data', '/x'])).toEqual({ kind: 'start', port: 0, dataDir: '/x' });
  expect(readFlags(['--port=65534'])).toMatchObject({ port: 65534 });
  expect(readFlags(['-h'])).toEqual({ kind: 'help' });
});

it.each([
  [['--port', '65535'], "--port takes a number from 0 to 65534, not '65535'."],
  [['--port', 'x'], "--port takes a number from 0 to 65534, not 'x'."],
  [['--port', '-1'], "Option '--port' argument is ambiguous."],
  [['--port', ''], "--port takes a number from 0 to 65534, not ''."],
  [['--port'], "Option '--port <value>' argument missing."],
  [['--data', ' '], '--data takes a folder, not an empty name.'],
  [['--prot', '1'], "Unknown option '--prot'."],
  [['start'], "Unexpected argument 'start'."],
])('refuses the flags %j', (args, message) => {
  expect(readFlags(args)).toEqual({ kind: 'wrong', message });
});
