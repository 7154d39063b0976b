import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { commandsOf } from '../../../cli/help.ts';
import { examples } from '../../../cli/program.ts';
import { displayWidth, withoutColours } from '../../../cli/terminal.ts';
import { contract } from '../../../lambda/contract.ts';
import type { RouteContract } from '../../../lambda/frame/contract/contract.ts';
import type { RouteKey } from '../../../lambda/routes.ts';
import { exampleAnswer, operationOf } from './api-examples.ts';
import { goldenRuns } from './golden-runs.ts';
import { cli, programForTest, startServer, type TestServer, wordsOf } from './harness.ts';

/** Every table that a command drew. */
const drawn = vi.hoisted(() => {
  // Another file of this process may have loaded the module that is replaced here.
  vi.resetModules();
  return [] as { columns: string[]; width: number | undefined; text: string }[];
});
vi.mock(import('../../../cli/table.ts'), async (original) => {
  const { renderTable } = await original();
  return {
    renderTable: (columns, rows, options) => {
      const text = renderTable(columns, rows, options);
      const names = columns.map((column) => (typeof column === 'string' ? column : column.name));
      drawn.push({ columns: names, width: options.width, text });
      return text;
    },
  };
});

const leaves = commandsOf(programForTest());

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const lines = Object.entries(examples).flatMap(([words, each]) =>
  each.map(([line]) => [line, words] as const),
);

/** Commands that do not ask the API for what they print: a store, a clone, or a shell. */
const notOfTheApi: Readonly<Record<string, string>> = {
  login: 'test/unit/cli/auth.test.ts, with a credentials file',
  logout: 'the same',
  check: 'test/unit/cli/check.long.test.ts, with a stack',
  connect: 'test/unit/cli/connect.long.test.ts, with a clone',
  du: 'test/unit/cli/du.test.ts, with a store',
  doctor: 'test/unit/cli/doctor.long.test.ts, with a store',
  serve: 'test/embedded/serve.test.ts, with a store',
  'table backup':
    'test/embedded/backups.test.ts, with a data folder; test/engines/backups.test.ts, with a table',
  'table restore': 'the same',
  'table finish': 'the same',
  'table rebuild': 'test/embedded/backups.test.ts, with a bucket',
  completion: 'test/unit/cli/completion.test.ts',
  'export local': 'test/embedded/subjects/exports/export-local.test.ts, with a store',
  'files put': 'test/unit/cli/subjects/files/files-commands.long.test.ts, with a store',
  'files get': 'the same',
  'repo names': 'test/unit/cli/subjects/names/names.test.ts, with a clone',
  import: 'test/unit/cli/move.long.test.ts, with a clone and another server',
  mirror: 'the same',
};

const apiLeaves = leaves.filter(({ words }) => !(words in notOfTheApi));

let examplesServer: TestServer;
let changed: ((body: unknown) => unknown) | undefined;
beforeAll(async () => {
  examplesServer = await startServer((asked) => exampleAnswer(asked, changed));
});
afterAll(() => examplesServer.close());

/** Runs the first example of a command on the examples of the API. */
async function onExamples(
  words: string,
  options: {
    more?: readonly string[];
    change?: (body: unknown) => unknown;
    columns?: number | undefined;
    url?: string;
  } = {},
) {
  const { more = [], columns } = options;
  const example = examples[words]?.[0]?.[0] ?? '';
  const line = more.includes('--by') ? example.replace(/ --by \S+/, '') : example;
  changed = options.change;
  const { asked } = examplesServer;
  const { url = examplesServer.url } = options;
  const before = asked.length;
  const env = { LFS_QUOTA_URL: url, LFS_QUOTA_TOKEN: 'x' };
  const args = [...wordsOf(line).filter((word) => !['--watch', '--wait'].includes(word)), ...more];
  if (args.includes('--output')) args.splice(args.indexOf('--output'), 2);
  const asks = /^(tenant|repo|object|lock|files) delete$|limit$|^repo public$/.test(words);
  if (asks && !args.includes('--dry-run')) args.push('--yes');
  const isTerminal = columns !== undefined;
  const result = await cli(args, { env, ...(isTerminal && { isTerminal, errIsTerminal: true, columns }) });
  return { ...result, asked: asked.slice(before) };
}

describe('each command', () => {
  it.each(leaves)('$words has one to three examples', ({ words }) => {
    expect(examples[words]?.length, words).toBeGreaterThan(0);
    expect(examples[words]?.length, words).toBeLessThan(4);
  });

  it('is the only one that has', () => {
    expect(Object.keys(examples).sort()).toEqual(leaves.map(({ words }) => words).sort());
  });

  it.each(leaves)('$words shows usage, options and examples', async ({ words }) => {
    const { code, out } = await cli([...words.split(' '), '--help']);
    expect(code).toBe(0);
    for (const part of [`Usage: lfs-quota ${words} `, '\nOptions:\n', '\nExample'])
      expect(out).toContain(part);
    for (const [line] of examples[words] ?? []) expect(out).toContain(`\n  ${line}\n`);
  });

  it.each(lines)('%s is taken by the command', async (line, words) => {
    const program = programForTest();
    let called: { words: string; args: unknown[] } | undefined;
    for (const leaf of commandsOf(program))
      leaf.command.action((...args) => {
        called = { words: leaf.words, args };
      });
    await program.parseAsync(wordsOf(line), { from: 'user' });
    expect(called?.words).toBe(words);
  });
});

/** What `--json` prints, where that is not the answer of the API. */
const shapes: Readonly<Record<string, z.ZodType>> = {
  'token revoke': z.strictObject({ tenant: z.literal('acme'), tokenId: z.string() }),
  invite: z.looseObject({ invitationId: z.string(), link: z.string() }),
  'rule delete': z.strictObject({ tenant: z.literal('acme'), ruleId: z.string() }),
  'user remove': z.strictObject({ tenant: z.literal('acme'), host: z.string(), organizationId: z.string() }),
  'user end': z.strictObject({ tenant: z.literal('acme'), userId: z.string() }),
  'alert list': z.strictObject({
    webhook: z.looseObject({ url: z.string() }),
    emails: z.array(z.looseObject({})),
  }),
  'alert remove': z.strictObject({ tenant: z.literal('acme'), target: z.string() }),
  'tenant unlink': z.strictObject({ tenant: z.literal('acme') }),
  'scan now': z.strictObject({
    tenant: z.string(),
    repos: z.array(
      z.strictObject({
        repo: z.string(),
        counted: z
          .strictObject({ objectCount: z.int(), storedBytes: z.int(), scannedAt: z.iso.datetime() })
          .nullable(),
        stored: z.strictObject({ objectCount: z.int(), storedBytes: z.int() }),
      }),
    ),
  }),
};

/** Commands without `--json`, and why. */
const noJson: Readonly<Record<string, string>> = {
  login: 'it prints what it logged in to: whoami has it as JSON',
  logout: 'it prints that it is done',
  serve: 'its log lines are JSON',
  'table backup': 'the backup itself is JSON',
  'table restore': 'it prints that it is done',
  'table finish': 'the same',
  'table rebuild': 'tenant list has the tenants as JSON',
  completion: 'it prints a script',
};

describe('--json', () => {
  it('is an option of each command, or there is a reason why not', () => {
    const without = leaves.filter(({ command }) => !has(command, '--json')).map(({ words }) => words);
    expect(without).toEqual(Object.keys(noJson));
  });

  it.each(apiLeaves)('of $words prints one object in its shape', async ({ words }) => {
    const { code, out, err, asked } = await onExamples(words, { more: ['--json'] });
    expect(err).toBe('');
    expect(code).toBe(0);
    expect(out.endsWith('}\n')).toBe(true);
    expect(out.split('\n')).toHaveLength(2);
    const printed: unknown = JSON.parse(out);
    const last = asked.at(-1);
    const operation = last && operationOf(last);
    const doc: RouteContract | undefined = operation && contract[operation];
    const [answer] = Object.values(doc?.answers ?? {});
    const shape = shapes[words] ?? answer?.schema;
    expect(shape?.safeParse(printed).error).toBeUndefined();
    if (!shapes[words]) expect(printed).toEqual(answer?.example);
  });

  it('prints a line for each of several things, and each time: docs/command-line.md names the commands', async () => {
    const repeating = leaves.filter(
      ({ command }) =>
        has(command, '--watch') ||
        (has(command, '--dry-run') && command.registeredArguments.some(({ variadic }) => variadic)),
    );
    const [, ...named] =
      /`([a-z ]+) --watch` and `([a-z ]+)`\s+print one object a line/.exec(commandLineText) ?? [];
    const documented = named.filter((words) => words !== undefined);
    expect(documented.sort()).toEqual(repeating.map(({ words }) => words).sort());
  });

  it('of usage --watch prints one object on a line each time', async () => {
    server = await startServer((asked) => exampleAnswer(asked));
    const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'x' };
    let times = 0;
    // What ends it here stands for the server going away.
    const sleep = async () => {
      times += 1;
      if (times === 3) await server?.close();
    };
    const { out } = await cli(['usage', 'acme', '--watch', '--json'], { env, sleep });
    const { example } = contract['GET /v1/tenants/{tenant}/subscription'].answers[200];
    expect(linesOf(out)).toEqual([example, example, example]);
  });

  it.each(['--yes', '--dry-run'])(
    'of files delete %s prints one object on a line for each, in their order',
    async (option) => {
      const oids = ['a', 'b', 'c'].map((digit) => digit.repeat(64));
      server = await startServer((asked) =>
        exampleAnswer(asked, (body) => ({ ...(body as object), bytes: oids.indexOf(oidIn(asked.path)) })),
      );
      const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'x' };
      const { out } = await cli(
        ['files', 'delete', ...oids, '--tenant', 'acme', '--repo', 'game', '--json', option],
        { env },
      );
      expect(linesOf(out)).toMatchObject([{ bytes: 0 }, { bytes: 1 }, { bytes: 2 }]);
    },
  );

  const lists = apiLeaves.filter(({ command }) => has(command, '--page-size'));

  it.each(lists)('of $words has all pages, and says how many it may have', async ({ words, command }) => {
    const items: unknown[] = [];
    let key = '';
    const change = (body: unknown) => {
      const page = body as Record<string, unknown>;
      key = Object.keys(page).find((name) => Array.isArray(page[name])) ?? '';
      items.push(...(page[key] as unknown[]));
      return { ...page, nextCursor: items.length < 3 ? `c${items.length}` : null };
    };
    const { out, asked } = await onExamples(words, { more: ['--json', '--page-size', '1'], change });
    expect(JSON.parse(out)).toMatchObject({ [key]: items, nextCursor: null });
    expect(items).toHaveLength(3);
    expect(asked.map(({ path }) => /[?&]cursor=(\w+)/.exec(path)?.[1])).toEqual([undefined, 'c1', 'c2']);
    expect(command.createHelp().formatHelp(command, command.createHelp())).toMatch(
      words === 'downloads' ? 'everything' : 'default: all',
    );
  });
});

const commandLineText = readFileSync(new URL('../../../docs/command-line.md', import.meta.url), 'utf8');

/** Each line is a whole object, as `jq` and others read it. */
function linesOf(out: string): unknown[] {
  expect(out.endsWith('\n')).toBe(true);
  return out
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line));
}

const oidIn = (path: string) => /objects\/([0-9a-f]{64})/.exec(path)?.[1] ?? '';

const has = (command: Command, flag: string) => command.options.some(({ long }) => long === flag);

/** Longer than most: a name as long as it may be, and numbers as large. */
function stretched(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.flatMap((item) => [item, stretched(item, key)]);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, stretched(each, name)]));
  if (typeof value === 'number') {
    if (key === 'share') return 0.123;
    return /seconds/i.test(key) ? 10 ** 9 : Number.MAX_SAFE_INTEGER;
  }
  if (typeof value !== 'string' || !(key in longest)) return value;
  return longest[key];
}

const longest: Readonly<Record<string, string>> = {
  tenant: 't'.repeat(40),
  repo: `${'repository-'.repeat(8)}x`,
  path: `art/${'深い'.repeat(30)}/hero.psd`,
  owner: 'someone.with.a.long.name@a-very-long-domain.example.com',
  ownerName: 'Someone With a Long Name '.repeat(3),
  label: 'render farm 3️⃣ '.repeat(6),
  user: 'jürgen.von.und.zu@example.com',
  plan: 'enterprise-with-everything',
  host: 'gitlab-of-the-company',
  name: 'a token with a long name'.repeat(3),
};

describe('on a terminal', () => {
  const asItIs = (body: unknown) => body;
  const longer = (body: unknown) => stretched(body);
  for (const [columns, ...changes] of [
    [40, asItIs, longer],
    [60, longer],
    [80, asItIs, longer],
    [120, longer],
  ] as const)
    it(`of ${columns} columns no table of any command has a longer line`, async () => {
      const headings = new Set<string>();
      for (const { words } of apiLeaves)
        for (const change of changes) {
          drawn.length = 0;
          const more = moreRows[words] ?? [[]];
          for (const args of more) {
            const { err, code } = await onExamples(words, { columns, change, more: args });
            expect(code, err).toBe(0);
          }
          for (const { columns: names, width, text } of drawn) {
            headings.add(names.join());
            expect(width).toBe(columns);
            for (const line of withoutColours(text).split('\n'))
              expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
          }
        }
      // Each place in the code that draws one, but for those of `du`, which ask no API, and of a gc run, which needs a clone.
      expect([...headings].map((names) => names.split(',')[0])).toEqual(
        expect.arrayContaining(['tenant', 'id', 'path', 'oid', 'export', 'archive', 'time']),
      );
      expect(headings.size).toBeGreaterThan(16);
    });

  it.each(['usage', 'history'])('%s draws no more than fits', async (words) => {
    for (const columns of [40, 60, 80]) {
      const { out } = await onExamples(words, { columns });
      const pictures = out.split('\n').filter((line) => /[█▁▂▃▄▅▆▇|]/.test(line));
      expect(pictures.length).toBeGreaterThan(0);
      for (const line of pictures) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
    }
  });
});

/** As a hostile server would write it: colours, a link, a title, 8-bit controls, another line, and letters in another order. */
const hostile = '\u001b[31m\u001b]8;;http://evil\u0007\u009b2J\u0090\r\nevil\u202e';
/** What of it no terminal may get. A line feed is ours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is they that must not be there.
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

/** The body with each of its texts, and names of a map, hostile where the contract lets them be. @returns how many are. */
function poisoned(body: unknown, isTaken: (body: unknown) => boolean): { body: unknown; count: number } {
  let count = 0;
  /** @param put the body with something else in place of this value. */
  const poison = (value: unknown, put: (value: unknown) => unknown): unknown => {
    const taken = (next: unknown) => isTaken(put(next));
    if (typeof value === 'string' || value === null) {
      const texts = [`${value ?? ''}${hostile}`, `https://example.com/${hostile}`];
      const found = texts.find(taken);
      count += found === undefined ? 0 : 1;
      return found ?? value;
    }
    if (typeof value !== 'object') return value;
    let now: unknown = Array.isArray(value) ? [...value] : { ...value };
    for (const key of Object.keys(value)) {
      // With one more page each time, a list has no end.
      if (key === 'nextCursor') continue;
      const withValue = (each: unknown) =>
        Array.isArray(now) ? now.with(Number(key), each) : { ...(now as object), [key]: each };
      now = withValue(poison((now as Record<string, unknown>)[key], (each) => put(withValue(each))));
      if (Array.isArray(now)) continue;
      const { [key]: held, ...others } = now as Record<string, unknown>;
      const renamed = { ...others, [`${key}${hostile}`]: held };
      // A field that is only left out says nothing: this is a name that somebody chose.
      if (!isField(key) && taken(renamed)) now = renamed;
    }
    return now;
  };
  return { body: poison(body, (value) => value), count };
}

/** Names of fields are ours. */
const isField = (name: string) => fieldNames.has(name);
const fieldNames = new Set<string>();
(function note(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  for (const [name, value] of Object.entries(schema)) {
    if (name === 'properties') for (const field of Object.keys(value as object)) fieldNames.add(field);
    note(value);
  }
})(
  Object.values<RouteContract>(contract).flatMap(({ answers }) =>
    Object.values(answers).flatMap(({ schema }) =>
      schema ? [z.toJSONSchema(schema, { unrepresentable: 'any' })] : [],
    ),
  ),
);

describe('what a server says', () => {
  it('reaches no terminal as controls, whatever the command and the field', async () => {
    const found: unknown[] = [];
    const answers = new Map<string, ReturnType<typeof poisoned>>();
    const server = await startServer((asked) => {
      const operation = operationOf(asked);
      const doc: RouteContract | undefined = operation && contract[operation];
      const [answer] = Object.values(doc?.answers ?? {});
      const isTaken = (body: unknown) => answer?.schema?.safeParse(body).success === true;
      return exampleAnswer(asked, (example) => {
        const made = answers.get(`${operation}`) ?? poisoned(example, isTaken);
        answers.set(`${operation}`, made);
        return made.body;
      });
    });
    try {
      for (const { words } of apiLeaves)
        for (const args of [...(moreRows[words] ?? [[]]), ['--json']])
          for (const columns of [undefined, 80]) {
            const { out, err } = await onExamples(words, { more: args, columns, url: server.url });
            const lines = withoutColours(out + err).split('\n');
            found.push(
              ...lines
                .filter((line) => controls.test(line) || line.startsWith('evil'))
                .map((line) => [words, line]),
            );
          }
      expect(found).toEqual([]);
      expect([...answers.values()].reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(100);
    } finally {
      await server.close();
    }
  });

  it('of an error reaches none, either', async () => {
    const body = { code: hostile, title: hostile, detail: hostile };
    const server = await startServer(() => ({ status: 409, body }));
    try {
      for (const { words } of apiLeaves) {
        const { out, err } = await onExamples(words, { url: server.url });
        expect(controls.test((out + err).replaceAll('\n', '')), words).toBe(false);
      }
    } finally {
      await server.close();
    }
  });
});

/** What else draws a table than the first example. */
const moreRows: Readonly<Record<string, readonly (readonly string[])[]>> = {
  history: [['--table']],
  'files list': [[], ['--prefix', 'a/']],
  downloads: [[], ['--by', 'token']],
};

/** Operations that no command of `apiLeaves` asks for, and what does instead. */
const servedOtherwise: Readonly<Record<string, string>> = {
  'GET /': 'The page for people: a browser opens it.',
  'GET /sign-in/{host}': 'The same page, after a git host.',
  'GET /assets/{file}': 'A part of that page.',
  'GET /v1/sign-in': 'The console: it shows a button for each host.',
  'POST /v1/sign-in': 'The console. The command line logs in by a code.',
  'POST /v1/sign-in/finish': 'The same.',
  'GET /health': 'For load balancers and monitors. Every command says when nothing answers.',
  'GET /openapi.json': 'For programs that make a client. Anybody may fetch it, without a token.',
  'GET /v1/lost-tenants': 'table rebuild',
  'GET /v1/usage/webhook': 'For the operator’s programs: it is set once, by curl (docs/saas-builders.md).',
  'PUT /v1/usage/webhook': 'The same.',
  'GET /v1/webhook': 'The same.',
  'PUT /v1/webhook': 'The same.',
  'DELETE /v1/webhook': 'The same.',
  'POST /v1/webhook/test': 'The same.',
  'DELETE /v1/usage/webhook': 'The same.',
  'POST /v1/invitations/accept': 'login LINK',
  'POST /v1/device': 'login',
  'POST /v1/tenants/{tenant}/console-links': 'For the operator’s app (docs/saas-builders.md).',
  'POST /v1/console-links/open': 'The console.',
  'POST /v1/tenants/{tenant}/device': 'The console: whoever approves a code sees the machine first.',
  'POST /v1/session': 'A session is a browser with a cookie. The command line sends its token each time.',
  'DELETE /v1/session': 'The same.',
  'POST /v1/emails/confirm': "Somebody's link in an e-mail, in a browser.",
  'POST /v1/emails/unsubscribe': 'The same, or their mail program.',
  'POST /v1/tenants/{tenant}/exchange':
    'For a CI job, which has curl and no lfs-quota (docs/team-admins.md).',
  'POST /v1/tenants/{tenant}/repos/{repo}/gc/reachable-set':
    'gc, with a clone: test/unit/cli/subjects/gc/run.test.ts',
  'POST /v1/tenants/{tenant}/repos/{repo}/gc/run': 'The same.',
  'POST /v1/tenants/{tenant}/repos/{repo}/names':
    '`repo names`, with a clone: test/unit/cli/subjects/names/names.test.ts',
  'POST /{tenant}/{repo}/info/lfs/objects/batch': 'git lfs push and pull. Also connect and export local.',
  'POST /{tenant}/{repo}/info/lfs/objects/copies': 'import, with --via service.',
  'POST /{tenant}/{repo}/info/lfs/verify': 'git lfs push',
  'GET /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}': 'agent',
  'POST /{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}': 'agent',
  'POST /{tenant}/{repo}/info/lfs/locks': 'git lfs lock',
  'GET /{tenant}/{repo}/info/lfs/locks': 'git lfs locks',
  'POST /{tenant}/{repo}/info/lfs/locks/verify': 'git lfs push',
  'POST /{tenant}/{repo}/info/lfs/locks/{lockId}/unlock': 'git lfs unlock',
  'POST /v1/tenants/{tenant}/repos/{repo}/uploads': '`files put`: a test of it has a store.',
  'POST /v1/tenants/{tenant}/repos/{repo}/downloads': '`files get`, likewise.',
  'POST /v1/tenants/{tenant}/repos/{repo}/uploads/{uploadId}':
    'For programs: `files put` needs no confirmation.',
  'DELETE /v1/tenants/{tenant}/repos/{repo}/uploads/{uploadId}':
    'The same: it takes names for a day, so `files put` could not continue.',
  'GET /v1/tenants/{tenant}/repos/{repo}/files/usage': 'The same: `files list` has the sums.',
};

/** Of what an operation may be asked, what no command asks: field or parameter → why. */
const notAsked: Readonly<Record<string, string>> = {
  'GET /v1/tenants/{tenant}/repos weeks': 'For the bars of the console.',
  'GET /v1/usage format': 'For programs. --json has the same.',
  'GET /v1/tenants/{tenant}/downloads cursor': 'All pages are read: sums of some would be wrong.',
};

describe('the operations of the API', () => {
  it('have a command each, or a reason why they have none; so has all that they may be asked', () => {
    const asked = askedInTranscripts();
    const all = Object.keys(contract) as RouteKey[];
    const unserved = all.filter((operation) => !asked.has(operation));
    expect(unserved.sort()).toEqual(Object.keys(servedOtherwise).sort());
    const unasked = all.flatMap((operation) => {
      const names = asked.get(operation);
      return names
        ? inputsOf(contract[operation])
            .filter((name) => !names.has(name))
            .map((name) => `${operation} ${name}`)
        : [];
    });
    expect(unasked.sort()).toEqual(Object.keys(notAsked).sort());
  });
});

/** What the commands ask in their transcripts: operation → names of parameters and fields. */
function askedInTranscripts(): Map<string, Set<string>> {
  const asked = new Map<string, Set<string>>();
  for (const command of Object.keys(goldenRuns)) {
    const transcript = readFileSync(new URL(`golden/${command}.txt`, import.meta.url), 'utf8');
    for (const [, method = '', path = '', body = '{}'] of transcript.matchAll(
      /^> (\S+) (\S+)(?: (.+))?$/gm,
    )) {
      const operation = operationOf({ method, path });
      if (operation === undefined) continue;
      const names = asked.get(operation) ?? new Set();
      for (const name of new URL(path, 'http://api').searchParams.keys()) names.add(name);
      for (const name of Object.keys(JSON.parse(body))) names.add(name);
      asked.set(operation, names);
    }
  }
  return asked;
}

/** Parameters of the query, and fields of the body. */
function inputsOf({ query, body }: RouteContract): string[] {
  const of = (schema: z.ZodType | undefined) =>
    schema
      ? Object.keys(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }).properties ?? {})
      : [];
  return [...of(query), ...of(body?.schema)];
}
