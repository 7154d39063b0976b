import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

/**
 * The architecture, as a table that is enforced: which folder may import which, type imports included, and which
 * packages it may use. docs/architecture.md says why.
 *
 * A file belongs to the longest entry that begins its path. Within its own entry a file may import freely. A name
 * stands for that entry alone, or with `/**` for everything below it.
 */
const architecture: Readonly<Record<string, { imports: readonly string[]; packages: readonly string[] }>> = {
  // Pure rules: no I/O, no clock. `node:crypto` is there to hash.
  'lambda/domain': { imports: [], packages: ['node:crypto'] },
  // What a use case needs from outside, as types.
  'lambda/ports': { imports: ['lambda/domain'], packages: [] },
  // Helpers that every use case may call, and the one list of dependencies.
  'lambda/use-cases': { imports: ['lambda/domain', 'lambda/ports'], packages: [] },
  'lambda/use-cases/scan': { imports: ['lambda/domain', 'lambda/ports'], packages: [] },
  'lambda/use-cases/access': { imports: ['lambda/domain', 'lambda/ports', 'lambda/use-cases'], packages: [] },
  'lambda/use-cases/downloads': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/use-cases'],
    packages: [],
  },
  // The subjects build on each other in this order: deletes, recounts, uploads.
  'lambda/use-cases/deletes': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/use-cases'],
    packages: [],
  },
  'lambda/use-cases/recounts': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/use-cases', 'lambda/use-cases/deletes'],
    packages: [],
  },
  'lambda/use-cases/uploads': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/use-cases', 'lambda/use-cases/recounts'],
    packages: [],
  },
  // Adapters do not know each other, but for the scan, which reads S3's errors and credentials as `s3` does.
  'lambda/adapters/system': {
    imports: ['lambda/domain', 'lambda/ports'],
    packages: ['node:async_hooks', 'node:crypto', 'node:timers/promises'],
  },
  'lambda/adapters/dynamodb': {
    imports: ['lambda/domain', 'lambda/ports'],
    packages: ['@aws-sdk/client-dynamodb', '@aws-sdk/lib-dynamodb', 'zod'],
  },
  'lambda/adapters/s3': {
    imports: ['lambda/ports'],
    packages: ['@aws-sdk/client-s3', 'node:crypto', 'node:net'],
  },
  'lambda/adapters/s3-scan': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/adapters/s3'],
    packages: [
      '@aws-sdk/client-s3',
      '@aws-sdk/middleware-sdk-s3',
      '@smithy/protocol-http',
      '@smithy/types',
      'node:crypto',
      'node:events',
      'node:stream',
    ],
  },
  'lambda/adapters/sqs': { imports: ['lambda/domain', 'lambda/ports'], packages: ['@aws-sdk/client-sqs'] },
  'lambda/adapters/secrets': {
    imports: ['lambda/domain', 'lambda/ports'],
    packages: ['@aws-sdk/client-secrets-manager', 'zod'],
  },
  'lambda/adapters/powertools': {
    imports: ['lambda/ports', 'lambda/adapters/system'],
    packages: ['@aws-lambda-powertools/logger', '@aws-lambda-powertools/metrics'],
  },
  // Wire formats: HTTP for clients, and the messages that AWS delivers.
  'lambda/http': {
    imports: ['lambda/domain', 'lambda/ports', 'lambda/use-cases/**'],
    packages: ['aws-lambda', 'zod'],
  },
  'lambda/events': { imports: ['lambda/domain'], packages: ['zod'] },
  // The edges of a function: what wraps a handler, whatever it does.
  'lambda/runtime': {
    imports: ['lambda/http', 'lambda/ports'],
    packages: ['aws-lambda', 'node:timers/promises'],
  },
  'lambda/routes.ts': { imports: [], packages: [] },
  // The one place that knows which adapter stands behind which port.
  'lambda/compose.ts': {
    imports: ['lambda/adapters/**', 'lambda/domain', 'lambda/ports', 'lambda/use-cases/scan'],
    packages: ['@aws-sdk/client-s3'],
  },
  'lambda/handlers': {
    imports: [
      'lambda/compose.ts',
      'lambda/domain',
      'lambda/events',
      'lambda/http',
      'lambda/ports',
      'lambda/routes.ts',
      'lambda/runtime',
      'lambda/use-cases/**',
    ],
    packages: ['aws-lambda', 'zod'],
  },
  // lib names handlers by path, so that a deployment bundles them; it imports none.
  lib: {
    imports: ['lambda/adapters/dynamodb', 'lambda/domain', 'lambda/ports', 'lambda/routes.ts'],
    packages: ['@smithy/types', 'aws-cdk-lib', 'cdk-nag', 'constructs', 'node:fs', 'node:url', 'zod'],
  },
  bin: { imports: ['lib'], packages: [] },
  // The embedded stack runs the handlers that are deployed, over ports of its own.
  local: { imports: ['lambda/**'], packages: ['*'] },
  cli: {
    imports: [
      'lambda/adapters/s3',
      'lambda/adapters/s3-scan',
      'lambda/adapters/system',
      'lambda/domain',
      'lambda/ports',
      'lambda/use-cases/scan',
    ],
    packages: ['*'],
  },
  cost: { imports: ['lambda/domain', 'lambda/routes.ts'], packages: ['node:util'] },
  // Doubles and test servers. Nothing but tests and benchmarks imports them.
  'test/support': { imports: ['lambda/**', 'local'], packages: ['*'] },
  bench: { imports: ['cost', 'lambda/**', 'lib', 'local', 'test/support'], packages: ['*'] },
  test: { imports: ['bench', 'cli', 'cost', 'lambda/**', 'lib', 'local', 'test/support'], packages: ['*'] },
};

const root = path.join(import.meta.dirname, '../..');
const folders = ['bench', 'bin', 'cli', 'cost', 'lambda', 'lib', 'local', 'test'];

/** Every source file, by its path from the root → its text. */
const sources = new Map(
  folders
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
        path.posix.join(folder, file.replaceAll('\\', '/')),
      ),
    )
    .filter((file) => file.endsWith('.ts') && !file.includes('/out/'))
    .map((file) => [file, readFileSync(path.join(root, file), 'utf8')]),
);

/** `import`, `export … from` and `import(…)`, with and without `type`. */
const importPattern = /^(?:import|export)\s(?:[^'"`;]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm;

interface Import {
  readonly from: string;
  /** A file from the root, or a package. */
  readonly to: string;
}

const imports: readonly Import[] = [...sources].flatMap(([from, text]) =>
  [...text.matchAll(importPattern)].map((match) => {
    const specifier = match[1] ?? match[2] ?? '';
    const to = specifier.startsWith('.') ? path.posix.join(path.posix.dirname(from), specifier) : specifier;
    return { from, to };
  }),
);

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

function mayImport(from: string, to: string): boolean {
  return (architecture[entryOf(from)]?.imports ?? []).some((name) => covers(name, entryOf(to)));
}

describe('the architecture', () => {
  it('reads the imports of every file', () => {
    expect(sources.size).toBeGreaterThan(400);
    expect(imports.length).toBeGreaterThan(1500);
    // Type imports too, and those over several lines.
    expect(imports).toContainEqual({ from: 'lambda/ports/ledger.ts', to: 'lambda/domain/tenant.ts' });
    expect(imports).toContainEqual({
      from: 'lambda/use-cases/uploads/admit-upload.ts',
      to: 'lambda/use-cases/uploads/batch-attempt.ts',
    });
  });

  it('has a place for every file', () => {
    expect([...sources.keys()].filter((file) => entryOf(file) === '')).toEqual([]);
  });

  it('lets a folder import only what its entry names', () => {
    const forbidden = imports.filter(
      ({ from, to }) => sources.has(to) && entryOf(from) !== entryOf(to) && !mayImport(from, to),
    );
    expect(forbidden.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  it('lets a folder use only the packages that its entry names', () => {
    const forbidden = imports.filter(({ from, to }) => {
      const packages = architecture[entryOf(from)]?.packages ?? [];
      return !sources.has(to) && !to.startsWith('lambda/') && !packages.includes('*')
        ? !packages.includes(packageOf(to))
        : false;
    });
    expect(forbidden.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  it('names nothing that is not needed', () => {
    const unneeded = Object.entries(architecture).flatMap(([entry, { imports: allowed, packages }]) => {
      const own = imports.filter(({ from }) => entryOf(from) === entry);
      const targets = own.map(({ to }) => entryOf(to));
      const used = own.map(({ to }) => packageOf(to));
      return [
        ...allowed.filter((name) => !targets.some((target) => covers(name, target))),
        ...packages.filter((name) => name !== '*' && !used.includes(name)),
      ].map((name) => `${entry}: ${name}`);
    });
    expect(unneeded).toEqual([]);
  });

  it('has no cycle, type imports included', () => {
    expect(cycles()).toEqual([]);
  });

  it('keeps in lambda/ only what a handler reaches', () => {
    const reached = new Set<string>();
    const visit = (file: string) => {
      if (reached.has(file)) return;
      reached.add(file);
      for (const { from, to } of imports) if (from === file && sources.has(to)) visit(to);
    };
    for (const file of sources.keys()) if (isOf(file, 'lambda/handlers')) visit(file);
    const unreached = [...sources.keys()].filter((file) => isOf(file, 'lambda') && !reached.has(file));
    expect(unreached).toEqual([]);
  });

  it('spreads no fresh object literal: that switches the check for unknown fields off', () => {
    const pattern = /\.\.\.\{/;
    expect([...sources].filter(([, text]) => pattern.test(text)).map(([file]) => file)).toEqual([]);
  });
});

/** Each cycle once, as the files along it. */
function cycles(): string[] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of imports)
    if (sources.has(to)) targets.set(from, [...(targets.get(from) ?? []), to]);
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]) => {
    if (trail.includes(file)) {
      found.push([...trail.slice(trail.indexOf(file)), file].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const to of targets.get(file) ?? []) visit(to, [...trail, file]);
    done.add(file);
  };
  for (const file of sources.keys()) visit(file, []);
  return found;
}
