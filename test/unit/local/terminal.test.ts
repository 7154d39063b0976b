import { expect, it } from 'vitest';
import { publicIssuers } from '../../../lambda/accounts/rules/identities.ts';
import { createTerminalLog, readFlags } from '../../../local/terminal.ts';

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

it('logs one line for each entry, for machines', () => {
  const { lines, log } = logged('json');
  log.error('failed', { tenant: 'acme', big: 2n ** 60n });
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      level: 'error',
      time: '2026-11-21T05:00:00.000Z',
      message: 'failed',
      tenant: 'acme',
      big: '1152921504606846976',
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

it('reads flags', () => {
  expect(readFlags([])).toEqual({
    kind: 'start',
    port: 8787,
    dataDir: '.lfs-quota',
    issuers: publicIssuers,
    adoptFile: undefined,
    gitHosts: [],
    allowsLoopbackWebhooks: false,
    settings: {},
  });
  expect(readFlags(['--loopback-webhooks'])).toMatchObject({ allowsLoopbackWebhooks: true });
  expect(readFlags(['--adopt', 'repos.json'])).toMatchObject({ adoptFile: 'repos.json' });
  expect(readFlags(['--gc-watch', '2'])).toMatchObject({ settings: { gcWatchMs: 120_000 } });
  expect(readFlags(['--port', '0', '--data', '/x'])).toMatchObject({ port: 0, dataDir: '/x' });
  expect(readFlags(['--port=65535'])).toMatchObject({ port: 65535 });
  const issuer = { kind: 'gitlab', issuer: 'https://git.example.com', jwksUri: 'http://127.0.0.1:1/keys' };
  const text = 'gitlab,https://git.example.com,http://127.0.0.1:1/keys';
  expect(readFlags(['--issuer', text, '--issuer', text])).toMatchObject({ issuers: [issuer, issuer] });
  expect(readFlags(['-h'])).toEqual({ kind: 'help' });
});

it.each([
  [['--port', '65536'], "--port takes a number from 0 to 65535, not '65536'."],
  [['--port', 'x'], "--port takes a number from 0 to 65535, not 'x'."],
  [['--port', '-1'], "Option '--port' argument is ambiguous."],
  [['--port', ''], "--port takes a number from 0 to 65535, not ''."],
  [['--port'], "Option '--port <value>' argument missing."],
  [['--gc-watch', '1h'], "--gc-watch takes a number of minutes, not '1h'."],
  [['--data', ' '], '--data takes a folder, not an empty name.'],
  [['--prot', '1'], "Unknown option '--prot'."],
  ...[
    'x',
    'gitea,https://a,https://a/keys',
    'gitlab,https://a',
    'gitlab,a,https://b',
    'github,https://a,ftp://b',
    'github,https://a,https://b,c',
  ].map((text): [string[], string] => [
    ['--issuer', text],
    '--issuer takes KIND,ISSUER,JWKS such as gitlab,https://git.example.com,https://git.example.com/oauth/discovery/keys.',
  ]),
  [['start'], "Unexpected argument 'start'."],
])('refuses the flags %j', (args, message) => {
  expect(readFlags(args)).toEqual({ kind: 'wrong', message });
});

it('takes git hosts, and plain HTTP to those of this machine alone', () => {
  const read = (...texts: string[]) => readFlags(texts.flatMap((text) => ['--git-host', text]));
  expect(readFlags([])).toMatchObject({ gitHosts: [] });
  expect(read('github,github,https://api.github.com', 'forge,gitea,http://127.0.0.1:3000')).toMatchObject({
    gitHosts: [
      { id: 'github', kind: 'github', url: 'https://api.github.com' },
      { id: 'forge', kind: 'gitea', url: 'http://127.0.0.1:3000' },
    ],
  });
  expect(read('forge,gitea,http://127.0.0.1:3000,app,secret.txt')).toMatchObject({
    gitHosts: [{ id: 'forge', signIn: { clientId: 'app', clientSecretArn: 'secret.txt' } }],
  });
  for (const wrong of [
    'forge',
    'forge,gitea',
    'Forge!,gitea,https://git.example.com',
    'forge,bitbucket,https://git.example.com',
    'forge,gitea,http://git.example.com',
    'forge,gitea,https://git.example.com/',
    'forge,gitea,https://git.example.com,more',
    'forge,gitea,https://git.example.com,,secret.txt',
    'forge,gitea,https://git.example.com,app,secret.txt,more',
  ])
    expect(read(wrong)).toMatchObject({
      kind: 'wrong',
      message: expect.stringMatching(/--git-host takes ID,KIND,URL/),
    });
  const one = 'forge,gitea,https://git.example.com';
  expect(read(one, one)).toMatchObject({ kind: 'wrong', message: '--git-host names forge twice.' });
  const many = Array.from({ length: 9 }, (_, index) => `f${index},gitea,https://git.example.com`);
  expect(read(...many.slice(1))).toMatchObject({ kind: 'start' });
  expect(read(...many)).toMatchObject({ kind: 'wrong', message: expect.stringMatching(/8 times at most/) });
});
