import { describe, expect, it } from 'vitest';
import { type Import, importedBy, imports, importsIn, reachedFrom, sources } from './import-graph.ts';

interface Entry {
  readonly imports: readonly string[];
  /** What it may import by `import type` alone. */
  readonly types?: readonly string[];
  readonly packages: readonly string[];
}

/** A store of the table has one implementation, so its type is what that has. Rules and use cases load none of it. */
const stores = ['lambda/adapters/dynamodb'];

/**
 * The architecture, as a table that is enforced: which folder may import which, type imports included, and which
 * packages it may use. docs/architecture.md says why.
 *
 * A file belongs to the longest entry that begins its path. Within its own entry a file may import freely. A name
 * stands for that entry alone, or with `/**` for everything below it. Among the packages, `node:*` stands for all
 * modules of Node, and `*` for any package.
 */
const architecture: Readonly<Record<string, Entry>> = {
  // Pure rules: no I/O, no clock. `node:crypto` is there to hash.
  'lambda/domain': { imports: [], packages: ['node:crypto'] },
  // The plan of an archive. zlib hashes what the archive has of its own.
  'lambda/domain/export': { imports: ['lambda/domain'], packages: ['node:zlib'] },
  // What a use case needs from outside, as types.
  'lambda/ports': { imports: ['lambda/domain'], packages: [] },
  // Helpers that every use case may call, and the one list of dependencies.
  'lambda/use-cases': {
    imports: ['lambda/domain', 'lambda/domain/export', 'lambda/ports'],
    types: stores,
    packages: [],
  },
  'lambda/use-cases/scan': { imports: ['lambda/domain', 'lambda/ports'], packages: [] },
  'lambda/use-cases/access': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/use-cases'],
    types: stores,
    packages: [],
  },
  'lambda/use-cases/downloads': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/use-cases'],
    types: stores,
    packages: [],
  },
  'lambda/use-cases/history': {
    imports: ['lambda/domain', 'lambda/use-cases'],
    types: stores,
    packages: [],
  },
  'lambda/use-cases/warnings': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/use-cases'],
    packages: [],
  },
  'lambda/use-cases/locks': { imports: ['lambda/domain', 'lambda/use-cases'], types: stores, packages: [] },
  // The subjects build on each other in this order: deletes, clean-ups, recounts, uploads.
  'lambda/use-cases/deletes': {
    imports: [
      'lambda/domain',
      'lambda/domain/export',
      'lambda/ports',
      'lambda/use-cases',
      'lambda/use-cases/access',
      'lambda/use-cases/exports',
    ],
    types: stores,
    packages: [],
  },
  'lambda/use-cases/repos': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/use-cases', 'lambda/use-cases/recounts'],
    types: stores,
    packages: [],
  },
  'lambda/use-cases/cleanup': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/use-cases', 'lambda/use-cases/deletes'],
    packages: [],
  },
  'lambda/use-cases/recounts': {
    imports: [
      'lambda/domain',
      'lambda/ports',
      'lambda/use-cases',
      'lambda/use-cases/cleanup',
      'lambda/use-cases/deletes',
      'lambda/use-cases/history',
      'lambda/use-cases/warnings',
    ],
    types: stores,
    packages: [],
  },
  'lambda/use-cases/uploads': {
    imports: [
      'lambda/domain',
      'lambda/ports',
      'lambda/use-cases',
      'lambda/use-cases/history',
      'lambda/use-cases/recounts',
    ],
    types: stores,
    packages: [],
  },
  'lambda/use-cases/exports': {
    imports: [
      'lambda/domain',
      'lambda/domain/export',
      'lambda/ports',
      'lambda/use-cases',
      'lambda/use-cases/access',
    ],
    packages: [],
  },
  // Adapters do not know each other, but for the scan, which sends its requests through `s3`, for archives, which say
  // as it does what an error means, and for what the clients of AWS's services share.
  'lambda/adapters/aws-sdk': { imports: ['lambda/domain'], packages: ['@smithy/core', '@smithy/types'] },
  'lambda/adapters/system': {
    imports: ['lambda/domain', 'lambda/ports'],
    packages: ['node:async_hooks', 'node:crypto', 'node:fs/promises', 'node:timers/promises'],
  },
  'lambda/adapters/dynamodb': {
    imports: ['lambda/domain', 'lambda/domain/export', 'lambda/ports', 'lambda/adapters/aws-sdk'],
    packages: ['@aws-sdk/client-dynamodb', '@aws-sdk/lib-dynamodb', 'zod'],
  },
  // Stands before the store wherever keys are sent to it.
  'lambda/adapters/adopted': { imports: ['lambda/domain', 'lambda/ports'], packages: [] },
  'lambda/adapters/s3': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/adapters/aws-sdk'],
    packages: ['node:crypto', 'node:events', 'node:http', 'node:https', 'node:net'],
  },
  'lambda/adapters/s3-scan': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/adapters/s3'],
    packages: [],
  },
  'lambda/adapters/s3-archive': {
    imports: ['lambda/ports', 'lambda/adapters/aws-sdk', 'lambda/adapters/s3'],
    packages: ['@aws-sdk/client-s3'],
  },
  'lambda/adapters/sqs': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/adapters/aws-sdk'],
    packages: ['@aws-sdk/client-sqs', 'node:crypto'],
  },
  'lambda/adapters/eventbridge': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/adapters/aws-sdk'],
    packages: ['@aws-sdk/client-eventbridge'],
  },
  'lambda/adapters/webhook': {
    imports: ['lambda/domain', 'lambda/ports'],
    packages: ['node:dns/promises', 'node:http', 'node:https', 'node:net'],
  },
  // What a person may do at their git host.
  'lambda/adapters/git-hosts': { imports: ['lambda/domain', 'lambda/ports'], packages: ['zod'] },
  'lambda/adapters/oidc': { imports: ['lambda/domain', 'lambda/ports'], packages: ['aws-jwt-verify'] },
  'lambda/adapters/secrets': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/adapters/aws-sdk'],
    packages: ['@aws-sdk/client-secrets-manager', 'zod'],
  },
  'lambda/adapters/powertools': {
    imports: ['lambda/ports', 'lambda/adapters/system'],
    packages: ['@aws-lambda-powertools/logger', '@aws-lambda-powertools/metrics'],
  },
  // Wire formats: HTTP for clients, and the messages that AWS delivers. The two APIs do not know each other.
  'lambda/api': {
    imports: [
      'lambda/api/contract',
      'lambda/domain',
      'lambda/domain/export',
      'lambda/http/lfs',
      'lambda/ports',
      'lambda/routes.ts',
    ],
    packages: ['aws-lambda', 'zod'],
  },
  // What is said of each route. Clients load it too, so it loads nothing that serves.
  'lambda/api/contract': {
    imports: [
      'lambda/api',
      'lambda/domain',
      'lambda/domain/export',
      'lambda/http/lfs',
      'lambda/ports',
      'lambda/routes.ts',
    ],
    packages: ['zod'],
  },
  'lambda/api/management': {
    imports: [
      'lambda/api',
      'lambda/api/contract',
      'lambda/domain',
      'lambda/domain/export',
      'lambda/routes.ts',
      'lambda/use-cases/**',
    ],
    packages: ['aws-lambda', 'zod'],
  },
  'lambda/http/lfs': {
    imports: ['lambda/api', 'lambda/domain', 'lambda/ports', 'lambda/routes.ts', 'lambda/use-cases/**'],
    packages: ['aws-lambda', 'zod'],
  },
  'lambda/events': { imports: ['lambda/domain'], packages: ['zod'] },
  // The edges of a function: what wraps a handler, whatever it does.
  'lambda/runtime': {
    imports: ['lambda/api', 'lambda/ports'],
    types: stores,
    packages: ['aws-lambda', 'node:timers/promises'],
  },
  'lambda/routes.ts': { imports: [], packages: [] },
  // The one place that knows which adapter stands behind which port.
  'lambda/compose.ts': {
    imports: [
      'lambda/adapters/**',
      'lambda/domain',
      'lambda/domain/export',
      'lambda/ports',
      'lambda/use-cases/scan',
    ],
    packages: [],
  },
  'lambda/handlers': {
    imports: [
      'lambda/compose.ts',
      'lambda/domain',
      'lambda/events',
      'lambda/api/**',
      'lambda/http/**',
      'lambda/ports',
      'lambda/routes.ts',
      'lambda/runtime',
      'lambda/use-cases/**',
    ],
    packages: ['aws-lambda'],
  },
  // The page. It runs in a browser, so it takes from the rest what is text alone, and the shapes of answers.
  'console/src': {
    imports: ['cli', 'lambda/api/contract', 'lambda/domain'],
    packages: ['preact'],
  },
  // What packs it.
  'console/build': {
    imports: ['lambda/ports'],
    packages: ['esbuild', 'node:crypto', 'node:fs', 'node:url', 'node:zlib'],
  },
  // lib names handlers by path, so that a deployment bundles them; it imports none.
  lib: {
    imports: [
      'cli/doctor/profile.ts',
      'lambda/adapters/dynamodb',
      'lambda/domain',
      'lambda/domain/export',
      'lambda/ports',
      'lambda/routes.ts',
    ],
    packages: [
      '@aws-sdk/credential-provider-env',
      'aws-cdk-lib',
      'cdk-nag',
      'constructs',
      'node:fs',
      'node:url',
      'zod',
    ],
  },
  bin: { imports: ['cli', 'lib', 'local'], packages: ['node:*', 'tsx'] },
  // The embedded stack runs the handlers that are deployed, over its own ports.
  local: {
    imports: ['console/build', 'lambda/**', 'local/store', 'local/system', 'local/table'],
    packages: ['*'],
  },
  // DynamoDB's table in this process.
  'local/table': {
    imports: ['lambda/adapters/aws-sdk', 'lambda/adapters/dynamodb', 'lambda/domain'],
    packages: [],
  },
  // Loopback servers, durable files, processes, and errors for the person who starts it.
  'local/system': { imports: [], packages: ['node:*'] },
  // The store that it brings along is a server of its own, and speaks S3 to the rest.
  'local/store': {
    imports: ['lambda/domain', 'local/system'],
    packages: ['@smithy/core', '@smithy/signature-v4', 'node:*'],
  },
  // `doctor` asks a store for parts and copies by the SDK itself, and reads its errors as `s3-archive` does.
  cli: {
    imports: [
      'cli/doctor/profile.ts',
      'lambda/adapters/aws-sdk',
      'lambda/adapters/s3',
      'lambda/adapters/s3-archive',
      'lambda/adapters/s3-scan',
      'lambda/adapters/system',
      'lambda/domain',
      'lambda/domain/export',
      'lambda/api/contract',
      'lambda/ports',
      'lambda/use-cases/scan',
      'local/system',
    ],
    packages: ['@aws-sdk/client-s3', 'commander', 'esbuild', 'node:*', 'zod'],
  },
  // What `doctor` writes about a store, and the settings of a stage read.
  'cli/doctor/profile.ts': { imports: [], packages: ['zod'] },
  cost: { imports: ['lambda/domain', 'lambda/routes.ts', 'lib'], packages: ['node:util'] },
  bench: {
    imports: ['cost', 'lambda/**', 'local', 'local/system', 'local/table', 'test/support'],
    packages: ['*'],
  },
  // Each lane of tests stands alone. What several lanes need is in test/support.
  'test/support': { imports: ['lambda/**', 'local', 'local/store', 'local/table'], packages: ['*'] },
  'test/unit': {
    imports: ['bench', 'cli/**', 'console/**', 'cost', 'lambda/**', 'lib/**', 'local/**', 'test/support'],
    packages: ['*'],
  },
  // What every implementation of a port must do. Run here on what needs nothing but Node.
  'test/contract': {
    imports: ['lambda/**', 'local', 'local/store', 'local/table', 'test/support'],
    packages: ['*'],
  },
  // What the API answers. It sees URLs alone, so the embedded and the deployed stack both run it.
  'test/blackbox': {
    imports: ['lambda/routes.ts', 'test/support'],
    packages: ['fast-check', 'node:*', 'vitest', 'zod'],
  },
  // The page in a browser.
  'test/console': { imports: ['lambda/domain', 'local', 'test/blackbox', 'test/support'], packages: ['*'] },
  'test/simulation': {
    imports: ['lambda/**', 'local/table', 'test/support'],
    packages: ['fast-check', 'node:*', 'vitest'],
  },
  'test/embedded': {
    imports: ['lambda/**', 'local', 'local/store', 'test/blackbox', 'test/support'],
    packages: ['*'],
  },
  // The code of older commits, which wrote them.
  'test/fixtures': { imports: [], packages: ['node:*'] },
  'test/stack': { imports: ['cli/doctor/profile.ts', 'cost', 'lambda/**', 'lib'], packages: ['*'] },
  'test/engines': {
    imports: ['cli', 'lambda/**', 'local', 'local/table', 'test/contract', 'test/support'],
    packages: ['*'],
  },
  'test/api': { imports: ['local', 'test/support'], packages: ['node:*', 'vitest', 'zod'] },
  'test/e2e': { imports: ['lambda/domain/**', 'test/support'], packages: ['*'] },
  'test/deployed': {
    imports: [
      'lambda/adapters/dynamodb',
      'lambda/domain',
      'lambda/routes.ts',
      'lib',
      'test/blackbox',
      'test/support',
    ],
    packages: ['*'],
  },
  'vitest.config.ts': { imports: ['test/support'], packages: ['node:os', 'vitest'] },
  'vitest.mutation.config.ts': { imports: [], packages: ['vitest'] },
};

const isOf = (file: string, entry: string) => file === entry || file.startsWith(`${entry}/`);

function entryOf(file: string): string {
  const entries = Object.keys(architecture).filter((entry) => isOf(file, entry));
  return entries.reduce((longest, entry) => (entry.length > longest.length ? entry : longest), '');
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
  return name.endsWith('/**') ? isOf(entry, name.slice(0, -3)) : name === entry;
}

function coversPackage(name: string, used: string): boolean {
  return name === '*' || name === used || (name === 'node:*' && used.startsWith('node:'));
}

function mayImport({ from, to, isType }: Pick<Import, 'from' | 'to' | 'isType'>): boolean {
  const [own, target] = [entryOf(from), entryOf(to)];
  const { imports: allowed = [], types = [] } = architecture[own] ?? {};
  return own === target || [...allowed, ...(isType ? types : [])].some((name) => covers(name, target));
}

function mayUse(from: string, specifier: string): boolean {
  const { packages = [] } = architecture[entryOf(from)] ?? {};
  return packages.some((name) => coversPackage(name, packageOf(specifier)));
}

const arrows = (found: readonly { from: string; to: string }[]) =>
  found.map(({ from, to }) => `${from} → ${to}`);

const locks = '../../adapters/dynamodb/locks.ts';

describe('the architecture', () => {
  it('reads the imports of every file', () => {
    expect(sources.size).toBeGreaterThan(400);
    expect(imports.length).toBeGreaterThan(1500);
    // Type imports too, and those over several lines.
    expect(imports).toContainEqual(
      expect.objectContaining({ from: 'lambda/use-cases/deps.ts', to: 'lambda/ports/metrics.ts' }),
    );
    expect(importedBy('lambda/use-cases/uploads/admit-upload.ts')).toContain(
      'lambda/use-cases/uploads/batch-attempt.ts',
    );
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

  it.each([
    [`import type { Locks } from '${locks}';`, true],
    [`import { createDynamoDbLocks } from '${locks}';`, false],
    [`import { type Locks, createDynamoDbLocks } from '${locks}';`, false],
    [`import { type Locks } from '${locks}';`, false],
    [`import '${locks}';`, false],
    [`export { createDynamoDbLocks } from '${locks}';`, false],
    [`const { createDynamoDbLocks } = await import('${locks}');`, false],
    [`import type { S3ObjectStore } from '../../adapters/s3/object-store.ts';`, false],
  ])('lets a use case take types of the stores, and nothing that runs: %s', (text, isAllowed) => {
    const found = importsIn('lambda/use-cases/locks/take-lock.ts', text);
    expect(found.map(mayImport)).toEqual([isAllowed]);
  });

  it('loads no adapter into rules and use cases, whatever their entries name', () => {
    const pure = Object.entries(architecture).filter(([entry]) =>
      /^lambda\/(domain|ports|use-cases)\b/.test(entry),
    );
    const names = pure.flatMap(([entry, { imports: allowed }]) => allowed.map((to) => ({ from: entry, to })));
    expect(arrows(names.filter(({ to }) => to.startsWith('lambda/adapters')))).toEqual([]);
  });

  it('lets a folder use only the packages that its entry names', () => {
    const foreign = imports.filter(({ isRelative }) => !isRelative);
    expect(arrows(foreign.filter(({ from, to }) => !mayUse(from, to)))).toEqual([]);
  });

  it('knows every file that is imported', () => {
    expect(arrows(imports.filter(({ to, isRelative }) => isRelative && !sources.has(to)))).toEqual([]);
  });

  it('lets nothing import a test', () => {
    expect(arrows(imports.filter(({ to }) => to.endsWith('.test.ts')))).toEqual([]);
  });

  it('names nothing that is not needed', () => {
    const unneeded = Object.entries(architecture).flatMap(
      ([entry, { imports: allowed, types = [], packages }]) => {
        const own = imports.filter(({ from }) => entryOf(from) === entry);
        const targets = own.map(({ to }) => entryOf(to));
        const used = own.filter(({ isRelative }) => !isRelative).map(({ to }) => packageOf(to));
        return [
          ...[...allowed, ...types].filter((name) => !targets.some((target) => covers(name, target))),
          ...packages.filter((name) => !used.some((each) => coversPackage(name, each))),
        ].map((name) => `${entry}: ${name}`);
      },
    );
    expect(unneeded).toEqual([]);
  });

  it('has no cycle, type imports included', () => {
    expect(cycles()).toEqual([]);
  });

  it('keeps in lambda/ only what a handler reaches', () => {
    const files = [...sources.keys()];
    const reached = reachedFrom(files.filter((file) => isOf(file, 'lambda/handlers')));
    const unreached = files.filter((file) => isOf(file, 'lambda') && !reached.has(file));
    expect(unreached).toEqual([]);
  });

  it('reads time, chance and the environment in adapters alone', () => {
    const ambient =
      /\b(Date\.now|new Date\(\)|Math\.random|performance|setTimeout|setInterval|setImmediate|fetch|process|globalThis)\b/;
    const pure = [...sources].filter(([file]) => /^lambda\/(domain|ports|use-cases)\//.test(file));
    const found = pure.filter(([, text]) => ambient.test(text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')));
    expect(found.map(([file]) => file)).toEqual([]);
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
