import { describe, expect, it } from 'vitest';
import { type Import, importedBy, imports, importsIn, reachedFrom, sources } from './import-graph.ts';

interface Entry {
  readonly imports: readonly string[];
  readonly packages: readonly string[];
}

/** A subject's entry. @param others those that it is nothing without. */
const subject = (name: string, packages: readonly string[], others: readonly string[] = []) => ({
  [`lambda/subjects/${name}`]: {
    imports: [
      'contract',
      'lambda/core/**',
      'lambda/frame',
      ...others.map((other) => `lambda/subjects/${other}`),
      'rules',
    ],
    packages,
  },
});

/**
 * The architecture, as a table that is enforced: which folder may import which, type imports included, and which
 * packages it may use. docs/architecture.md says why.
 *
 * A file belongs to the longest entry that begins its path; all rules are the entry `rules`, and what is said of routes is `contract`. Within its
 * own entry a file may import freely. A name stands for that entry alone, or with `/**` for everything below it. Among
 * the packages, `node:*` stands for all modules of Node, and `*` for any package.
 */
const architecture: Readonly<Record<string, Entry>> = {
  // The rules of each subject: no I/O, no clock, not even types of what has some. `node:crypto` and zlib hash,
  // `node:net` knows addresses, and zod checks what was stored.
  rules: { imports: [], packages: ['node:crypto', 'node:net', 'node:zlib', 'zod'] },
  // The core knows no subject: it tells what it has done, and asks (lambda/core/ledger/seams.ts).
  'lambda/core/ledger': { imports: ['lambda/core/scan', 'lambda/core/table', 'rules'], packages: ['zod'] },
  'lambda/core/scan': { imports: ['lambda/core/store', 'rules'], packages: [] },
  'lambda/core/store': {
    imports: ['lambda/core/table', 'rules'],
    packages: ['@aws-sdk/client-s3', 'node:crypto', 'node:events', 'node:http', 'node:https', 'node:net'],
  },
  'lambda/core/table': {
    imports: ['rules'],
    packages: ['@aws-sdk/client-dynamodb', '@aws-sdk/lib-dynamodb', '@smithy/core', '@smithy/types', 'zod'],
  },
  // What is said of each route. Clients load it too, so it loads nothing that serves.
  contract: { imports: ['rules'], packages: ['zod'] },
  // What every subject may use: HTTP, who asks and what they may, the routes of tenants and repos, AWS, failures.
  'lambda/frame': {
    imports: ['contract', 'lambda/core/**', 'rules'],
    packages: [
      '@aws-lambda-powertools/logger',
      '@aws-lambda-powertools/metrics',
      '@aws-sdk/client-eventbridge',
      '@aws-sdk/client-secrets-manager',
      '@aws-sdk/client-sqs',
      'aws-lambda',
      'node:async_hooks',
      'node:crypto',
      'node:dns/promises',
      'node:fs/promises',
      'node:http',
      'node:https',
      'node:net',
      'node:timers/promises',
      'node:v8',
      'zod',
    ],
  },
  // Each subject stands alone on the core and the frame, but for what is nothing without another.
  ...subject('alerts', ['@aws-sdk/client-sesv2', 'node:http', 'node:https', 'zod']),
  ...subject('chunks', ['aws-lambda', 'hash-wasm', 'node:timers/promises', 'zod'], ['lfs']),
  ...subject('ci', ['aws-jwt-verify']),
  ...subject('downloads', ['zod'], ['hosts']),
  // What is of two subjects is in a folder of one, by the name of the other, and comes off with either.
  ...subject(
    'downloads/lfs',
    ['node:http', 'node:https', 'node:stream/promises', 'zod'],
    ['downloads', 'hosts', 'lfs'],
  ),
  ...subject('exports', ['aws-lambda', 'zod']),
  ...subject('files', ['aws-lambda', 'zod']),
  ...subject('gc', []),
  ...subject('history', ['zod']),
  ...subject('hosts', ['zod']),
  ...subject('invitations', []),
  ...subject('lfs', ['aws-lambda', 'zod']),
  ...subject('locks', [], ['lfs']),
  ...subject('names', []),
  ...subject('sign-in', ['aws-lambda', 'zod'], ['hosts']),
  ...subject('status', []),
  // The lists of what the subjects have. Their order is that of the lists.
  'lambda/lists': {
    imports: ['contract', 'lambda/core/ledger', 'lambda/core/table', 'lambda/frame', 'lambda/subjects/**'],
    packages: [],
  },
  'lambda/routes.ts': { imports: ['lambda/frame', 'lambda/lists'], packages: [] },
  'lambda/repo-contract.ts': { imports: ['contract', 'lambda/lists', 'rules'], packages: [] },
  'lambda/contract.ts': {
    imports: ['contract', 'lambda/lists', 'lambda/repo-contract.ts', 'lambda/routes.ts', 'rules'],
    packages: ['zod'],
  },
  'lambda/openapi.ts': {
    imports: ['contract', 'lambda/contract.ts', 'lambda/frame', 'rules'],
    packages: ['zod'],
  },
  'lambda/subjects.ts': {
    imports: ['lambda/core/ledger', 'lambda/frame', 'lambda/lists', 'rules'],
    packages: [],
  },
  // A file a function: what it needs, from its environment. The one place that knows what stands behind each dependency on AWS.
  'lambda/functions': { imports: ['lambda/**', 'rules'], packages: ['aws-lambda'] },
  'lambda/parts.ts': {
    imports: ['lambda/core/**', 'lambda/frame', 'lambda/lists', 'rules'],
    packages: [],
  },
  // The page. It runs in a browser, so it takes from the rest what is text alone, and the shapes of answers.
  'console/src': { imports: ['cli', 'contract', 'lambda/contract.ts', 'rules'], packages: ['preact'] },
  // What packs it.
  'console/build': {
    imports: ['rules'],
    packages: ['esbuild', 'node:crypto', 'node:fs', 'node:url', 'node:zlib'],
  },
  // lib names handlers by path, so that a deployment bundles them; it imports none.
  lib: {
    imports: [
      'cli/doctor/profile.ts',
      'console/build',
      'lambda/core/table',
      'lambda/frame',
      'lambda/routes.ts',
      'rules',
    ],
    packages: [
      '@aws-sdk/credential-provider-env',
      'aws-cdk-lib',
      'cdk-nag',
      'constructs',
      'esbuild',
      'node:child_process',
      'node:fs',
      'node:path',
      'node:url',
      'zod',
    ],
  },
  bin: { imports: ['cli', 'console/build', 'lib'], packages: ['esbuild', 'node:*', 'tsx', 'zod'] },
  // The embedded stack runs the handlers that are deployed, with what this process has in place of AWS.
  local: {
    imports: ['console/build', 'lambda/**', 'local/store', 'local/system', 'local/table', 'rules'],
    packages: ['*'],
  },
  // DynamoDB's table in this process.
  'local/table': { imports: ['lambda/core/table', 'rules'], packages: [] },
  // Loopback servers, durable files, processes, and errors for the person who starts it.
  'local/system': { imports: [], packages: ['node:*'] },
  // The store that it brings along is a server of its own, and speaks S3 to the rest.
  'local/store': {
    imports: ['local/system', 'rules'],
    packages: ['@smithy/core', '@smithy/signature-v4', 'node:*', 'zod'],
  },
  // It scans and examines stores itself, and `serve` is the server. `doctor` asks a store for parts and copies by the SDK itself.
  cli: {
    imports: [
      'cli/doctor/profile.ts',
      'cost',
      'contract',
      'lambda/contract.ts',
      'lambda/frame',
      'lambda/subjects/chunks',
      'lambda/core/scan',
      'lambda/core/store',
      'lambda/core/table',
      'local',
      'local/system',
      'rules',
    ],
    packages: ['@aws-sdk/client-s3', 'commander', 'node:*', 'zod'],
  },
  // What `doctor` writes about a store, and the settings of a stage read.
  'cli/doctor/profile.ts': { imports: [], packages: ['zod'] },
  cost: { imports: ['lambda/routes.ts', 'lib', 'rules'], packages: ['node:util'] },
  bench: {
    imports: ['cost', 'lambda/**', 'lib', 'local', 'local/system', 'local/table', 'rules', 'test/support'],
    packages: ['*'],
  },
  // Each lane of tests stands alone. What several lanes need is in test/support.
  'test/support': {
    imports: ['lambda/**', 'local', 'local/store', 'local/table', 'rules'],
    packages: ['*'],
  },
  'test/unit': {
    imports: [
      'bench',
      'bin',
      'cli/**',
      'console/**',
      'cost',
      'lambda/**',
      'lib/**',
      'local/**',
      'rules',
      'test/support',
    ],
    packages: ['*'],
  },
  // What every implementation of a port must do. Run here on what needs nothing but Node.
  'test/contract': {
    imports: ['lambda/**', 'local', 'local/store', 'local/table', 'rules', 'test/support'],
    packages: ['*'],
  },
  // What the API answers. It sees URLs alone, so the embedded and the deployed stack both run it.
  'test/blackbox': {
    imports: ['contract', 'lambda/contract.ts', 'lambda/lists', 'lambda/routes.ts', 'test/support'],
    packages: ['fast-check', 'node:*', 'vitest', 'zod'],
  },
  // The page in a browser.
  'test/console': { imports: ['local', 'rules', 'test/blackbox', 'test/support'], packages: ['*'] },
  'test/simulation': {
    imports: ['lambda/**', 'local', 'local/table', 'rules', 'test/support'],
    packages: ['fast-check', 'node:*', 'vitest'],
  },
  'test/embedded': {
    imports: ['lambda/**', 'local', 'local/store', 'rules', 'test/blackbox', 'test/support'],
    packages: ['*'],
  },
  // The code of older commits, which wrote them.
  'test/fixtures': { imports: [], packages: ['node:*'] },
  'test/stack': {
    imports: ['cli/doctor/profile.ts', 'cost', 'lambda/**', 'lib', 'rules', 'test/support'],
    packages: ['*'],
  },
  'test/engines': {
    imports: [
      'cli',
      'lambda/**',
      'local',
      'local/table',
      'rules',
      'test/blackbox',
      'test/contract',
      'test/support',
    ],
    packages: ['*'],
  },
  // What is left of a checkout without a subject.
  'test/without': { imports: [], packages: ['node:*', 'oxc-parser', 'vitest'] },
  'test/image': { imports: ['test/blackbox'], packages: ['vitest'] },
  'test/proxies': { imports: ['test/support'], packages: ['node:*', 'vitest'] },
  'test/api': { imports: ['local', 'test/support'], packages: ['node:*', 'vitest', 'zod'] },
  'test/clients': { imports: ['test/e2e', 'test/support'], packages: ['node:*', 'vitest', 'zod'] },
  'test/e2e': { imports: ['console/src', 'local', 'rules', 'test/support'], packages: ['*'] },
  'test/deployed': {
    imports: ['lambda/routes.ts', 'lambda/core/table', 'lib', 'rules', 'test/blackbox', 'test/support'],
    packages: ['*'],
  },
  'vitest.config.ts': { imports: ['test/support'], packages: ['node:os', 'vitest'] },
  'vitest.mutation.config.ts': { imports: [], packages: ['vitest'] },
};

const isOf = (file: string, entry: string) => file === entry || file.startsWith(`${entry}/`);

/** Pure functions and types: those of a subject, and those that all share. */
const isRule = (file: string) => /^lambda\/(?:[\w-]+\/)*rules\//.test(file);

/** What is said of routes. */
const isContract = (file: string) =>
  /^lambda\/(frame\/contract\/|subjects\/[\w-]+\/(lfs\/)?(([\w-]+-)?contract|[\w-]+-request)\.ts$)/.test(
    file,
  );

const entriesByFile = new Map<string, string>();

function entryOf(file: string): string {
  const known = entriesByFile.get(file);
  if (known !== undefined) return known;
  const entries = Object.keys(architecture).filter((entry) => isOf(file, entry));
  const longest = entries.reduce((best, entry) => (entry.length > best.length ? entry : best), '');
  const found = isRule(file) ? 'rules' : isContract(file) ? 'contract' : longest;
  entriesByFile.set(file, found);
  return found;
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Whether a name in the table covers an entry: itself, or with `/**` everything below a folder. */
function covers(name: string, entry: string): boolean {
  if (name === 'lambda/**' && entry === 'contract') return true;
  return name.endsWith('/**') ? isOf(entry, name.slice(0, -3)) : name === entry;
}

function coversPackage(name: string, used: string): boolean {
  return name === '*' || name === used || (name === 'node:*' && used.startsWith('node:'));
}

function mayImport({ from, to }: Pick<Import, 'from' | 'to'>): boolean {
  const [own, target] = [entryOf(from), entryOf(to)];
  return own === target || (architecture[own]?.imports ?? []).some((name) => covers(name, target));
}

function mayUse(from: string, specifier: string): boolean {
  const { packages = [] } = architecture[entryOf(from)] ?? {};
  return packages.some((name) => coversPackage(name, packageOf(specifier)));
}

const arrows = (found: readonly { from: string; to: string }[]) =>
  found.map(({ from, to }) => `${from} → ${to}`);

const locks = '../locks.ts';

describe('the architecture', () => {
  it('reads the imports of every file', () => {
    expect(sources.size).toBeGreaterThan(400);
    expect(imports.length).toBeGreaterThan(1500);
    // Type imports too, and those over several lines.
    expect(imports).toContainEqual(
      expect.objectContaining({ from: 'local/deps.ts', to: 'lambda/core/store/rules/file-ports.ts' }),
    );
    expect(importedBy('lambda/core/ledger/admit-upload.ts')).toContain('lambda/core/ledger/upload-batch.ts');
  });

  it('has a place for every file, and files in every place', () => {
    const entries = [...sources.keys()].map((file) => [file, entryOf(file)] as const);
    expect(entries.filter(([, entry]) => entry === '')).toEqual([]);
    const used = new Set(entries.map(([, entry]) => entry));
    expect(Object.keys(architecture).filter((entry) => !used.has(entry))).toEqual([]);
  });

  it('lets a folder import only what its entry names', () => {
    const known = imports.filter(({ to }) => sources.has(to));
    expect(arrows(known.filter((each) => !mayImport(each)))).toEqual([]);
  });

  it('has no two folders of functions that import each other', () => {
    const roomOf = (file: string) =>
      file
        .split('/')
        .slice(0, -1)
        .join('/')
        .replace(/(?<=\/.*)\/rules$/, '');
    const between = imports
      .filter(({ from, to }) => from.startsWith('lambda/') && to.startsWith('lambda/'))
      .map(({ from, to }) => [roomOf(from), roomOf(to)] as const)
      .filter(([from, to]) => from !== to);
    const known = new Set(between.map((pair) => pair.join(' ')));
    const mutual = between.filter(([from, to]) => from < to && known.has(`${to} ${from}`));
    expect([...new Set(mutual.map((pair) => pair.join(' ↔ ')))]).toEqual([]);
  });

  it.each([
    ["import { bytesText } from '../../rules/text.ts';", true],
    ["import type { Reservation } from '../../ledger/rules/reservation.ts';", true],
    [`import { createDynamoDbLocks } from '${locks}';`, false],
    [`import type { Locks } from '${locks}';`, false],
    [`import '${locks}';`, false],
    [`export { createDynamoDbLocks } from '${locks}';`, false],
    [`const { createDynamoDbLocks } = await import('${locks}');`, false],
  ])('lets rules import rules alone, not even types of what does I/O: %s', (text, isAllowed) => {
    const found = importsIn('lambda/subjects/locks/rules/locks.ts', text);
    expect(found.map(mayImport)).toEqual([isAllowed]);
  });

  it('lets a folder use only the packages that its entry names', () => {
    const foreign = imports.filter(({ isRelative }) => !isRelative);
    expect(arrows(foreign.filter(({ from, to }) => !mayUse(from, to)))).toEqual([]);
  });

  it('knows every file that is imported', () => {
    // The console's build looks for its styles.
    const isKnown = (to: string) => sources.has(to) || to.endsWith('.css') || to.startsWith('test/without/');
    expect(arrows(imports.filter(({ to, isRelative }) => isRelative && !isKnown(to)))).toEqual([]);
  });

  it('lets nothing import a test', () => {
    expect(arrows(imports.filter(({ to }) => to.endsWith('.test.ts')))).toEqual([]);
  });

  it('names nothing that is not needed', () => {
    const unneeded = Object.entries(architecture).flatMap(([entry, { imports: allowed, packages }]) => {
      const own = imports.filter(({ from }) => entryOf(from) === entry);
      const targets = own.map(({ to }) => entryOf(to));
      const used = own.filter(({ isRelative }) => !isRelative).map(({ to }) => packageOf(to));
      return [
        ...allowed.filter((name) => !targets.some((target) => covers(name, target))),
        ...packages.filter((name) => !used.some((each) => coversPackage(name, each))),
      ].map((name) => `${entry}: ${name}`);
    });
    expect(unneeded).toEqual([]);
  });

  it('has no cycle, type imports included', () => {
    expect(cycles()).toEqual([]);
  });

  it('keeps in lambda/ only what a function reaches', () => {
    const files = [...sources.keys()];
    const reached = reachedFrom(files.filter((file) => isOf(file, 'lambda/functions')));
    const unreached = files.filter((file) => isOf(file, 'lambda') && !reached.has(file));
    expect(unreached).toEqual([]);
  });

  it('reads time, chance and the environment at its edges alone', () => {
    const edges =
      /^lambda\/(frame\/(api|aws|management)|functions|core\/(store|table))\/|^lambda\/(parts|core\/scan\/list-objects|subjects\/(chunks\/prove|hosts\/git-hosts|lfs\/operations|ci\/identity-verifier|alerts\/webhook-sender|downloads\/lfs\/copier))\.ts$/;
    const ambient =
      /\b(Date\.now|new Date\(\)|Math\.random|performance|setTimeout|setInterval|setImmediate|fetch|process|globalThis)\b/;
    const inner = [...sources].filter(
      ([file]) => isOf(file, 'lambda') && (isRule(file) || !edges.test(file)),
    );
    const found = inner.filter(([, text]) => ambient.test(text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')));
    expect(found.map(([file]) => file)).toEqual([]);
  });

  it('lets no server of a test close a connection that a client, on a busy machine, is about to send on', () => {
    const tests = [...sources].filter(
      ([file]) => isOf(file, 'test') && file !== 'test/unit/architecture.test.ts',
    );
    const http = tests.filter(([, text]) => /create\w*Server\b[^;]* from 'node:https?'/.test(text));
    const made = http.flatMap(([file, text]) =>
      (text.match(/\bcreate(Secure)?Server\([^;]{0,120}/g) ?? []).map((call) => ({ file, call })),
    );
    expect(made.length).toBeGreaterThan(20);
    expect(made.filter(({ call }) => !call.includes('keepAliveTimeout'))).toEqual([]);
  });

  it('spreads no fresh object literal: that switches the check for unknown fields off', () => {
    const pattern = /\.\.\.\{/;
    expect([...sources].filter(([, text]) => pattern.test(text)).map(([file]) => file)).toEqual([]);
  });
});

/** Each cycle once, as the files along it. */
function cycles(): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]) => {
    if (trail.includes(file)) {
      found.push([...trail.slice(trail.indexOf(file)), file].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const to of importedBy(file)) visit(to, [...trail, file]);
    done.add(file);
  };
  for (const file of sources.keys()) visit(file, []);
  return found;
}
