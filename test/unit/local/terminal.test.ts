import { expect, it } from 'vitest';
import { release } from '../../../lambda/core/rules/release.ts';
import { createTerminalLog } from '../../../local/terminal.ts';

function logged(format: 'text' | 'json') {
  const lines: string[] = [];
  const now = () => new Date('2026-11-21T05:00:00Z');
  return { lines, log: createTerminalLog({ format, write: (line) => void lines.push(line), now }) };
}

it('logs one line for each entry, for people', () => {
  const { lines, log } = logged('text');
  log.info('reconciled', {
    tenant: 'acme',
    storedBytes: 17,
    note: 'two words\nand \u001b[31mred',
    list: [1, 'a'],
  });
  log.warn('slow');
  expect(lines).toEqual([
    '05:00:00 reconciled tenant=acme storedBytes=17 note="two words\\nand \\u001b[31mred" list=[1,"a"]\n',
    '05:00:00 warn slow\n',
  ]);
});

it.each(['text', 'json'] as const)('leaves out what is undefined (%s)', (format) => {
  const { lines, log } = logged(format);
  log.info('request', { correlationId: undefined, tenant: null, at: { a: undefined, b: 0 } });
  expect(lines.join('')).not.toMatch(/undefined|correlationId/);
  expect(lines.join('')).toMatch(
    format === 'text' ? / tenant=null at=\{"b":0\}\n$/ : /"tenant":null,"at":\{"b":0\}/,
  );
});

it('logs one line for each entry, for machines, with the release', () => {
  const { lines, log } = logged('json');
  log.error('failed', { tenant: 'acme', big: 2n ** 60n });
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      level: 'error',
      time: '2026-11-21T05:00:00.000Z',
      message: 'failed',
      tenant: 'acme',
      big: '1152921504606846976',
      ...release,
    },
  ]);
});

it('shows an error with its causes', () => {
  const { lines, log } = logged('json');
  log.error('failed', { error: new Error('outer', { cause: new TypeError('inner') }) });
  const { error } = JSON.parse(lines[0] ?? '');
  expect(error.message).toBe('Error: outer < TypeError: inner');
  expect(error.thrownAt).toContain('terminal.test.ts');
});

it.each(['text', 'json'] as const)('leaves secrets out (%s)', (format) => {
  const { lines, log } = logged(format);
  const token = `lfsq_${'Ab3'.repeat(14)}`;
  const signed = 'http://127.0.0.1:8788/b/k?X-Amz-Date=1&X-Amz-Signature=0123abcd';
  const circular: Record<string, unknown> = { token };
  circular['self'] = circular;
  log.info('m', {
    token,
    adminToken: 'guess me',
    headers: { authorization: 'Basic YW55OnNlY3JldA==' },
    text: signed,
  });
  log.info('m', { note: `used ${token}`, header: 'Basic YW55OnNlY3JldA==', list: [signed], circular });
  log.info('m', { error: new Error(`PUT ${signed} failed for ${token}`) });
  const all = lines.join('');
  for (const secret of [token, 'guess me', 'YW55OnNlY3JldA', '0123abcd', 'X-Amz-Date'])
    expect(all).not.toContain(secret);
  expect(lines).toHaveLength(3);
});
