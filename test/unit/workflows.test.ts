import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { imports } from './import-graph.ts';

const root = path.join(import.meta.dirname, '../..');
const folder = path.join(root, '.github/workflows');
const permissions = z.record(z.string(), z.enum(['read', 'write']));
const step = z.looseObject({
  name: z.string().optional(),
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
});
const workflow = z.looseObject({
  on: z.record(z.string(), z.unknown()),
  permissions,
  jobs: z.record(
    z.string(),
    z.looseObject({
      'timeout-minutes': z.number(),
      permissions: permissions.optional(),
      strategy: z.unknown().optional(),
      steps: z.array(step),
    }),
  ),
});

const texts = readdirSync(folder).map(
  (file) => [file, readFileSync(path.join(folder, file), 'utf8')] as const,
);
const workflows = new Map(texts.map(([file, text]) => [file, workflow.parse(parse(text))]));
const stepsOf = ({ jobs }: z.output<typeof workflow>) => Object.values(jobs).flatMap(({ steps }) => steps);

/** What more than reading the repository a job may do. */
const rights: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'release.yml github': { contents: 'write' },
  'release.yml npm': { 'id-token': 'write' },
  'deploy-sandbox.yml deploy': { contents: 'read', 'id-token': 'write' },
};

describe.each([...workflows])('the workflow %s', (file, { on, permissions: all, jobs }) => {
  const text = new Map(texts).get(file) ?? '';

  it('uses actions of others by their commit, with the version beside it', () => {
    const used = [...text.matchAll(/uses: *(.*)$/gm)].map(([, value]) => value);
    expect(used.length).toBeGreaterThan(0);
    for (const each of used) expect(each).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it('may read the repository, and only the jobs that need more may more', () => {
    expect(all).toEqual({ contents: 'read' });
    for (const [name, job] of Object.entries(jobs))
      expect(job.permissions ?? {}, name).toEqual(rights[`${file} ${name}`] ?? {});
    // It would run the code of strangers with the rights of the repository.
    expect(Object.keys(on)).not.toContain('pull_request_target');
  });

  it('leaves no token in a checkout, and puts no expression into a script', () => {
    for (const { uses, run, with: given } of stepsOf({ on, permissions: all, jobs })) {
      if (uses?.startsWith('actions/checkout@'))
        expect(given).toMatchObject({ 'persist-credentials': false });
      expect(run ?? '').not.toContain('${{');
    }
  });
});

it.each(['bug.yml', 'idea.yml'])('the form %s asks for what GitHub can show', (file) => {
  const text = readFileSync(path.join(root, '.github/ISSUE_TEMPLATE', file), 'utf8');
  const field = z.strictObject({
    type: z.enum(['markdown', 'input', 'dropdown', 'textarea']),
    id: z.string().optional(),
    attributes: z.record(z.string(), z.unknown()),
    validations: z.strictObject({ required: z.boolean() }).optional(),
  });
  const form = z.strictObject({
    name: z.string(),
    description: z.string(),
    labels: z.array(z.string()),
    body: z.array(field),
  });
  const ids = form.parse(parse(text)).body.flatMap(({ id }) => id ?? []);
  expect(new Set(ids).size).toBe(ids.length);
});

describe('CI', () => {
  it('has a job for each lane that the night does not run', () => {
    const [run, night] = ['run', 'nightly.sh'].map((name) =>
      readFileSync(path.join(root, '.ci', name), 'utf8'),
    );
    const names = [...(run ?? '').matchAll(/^(\w+)_lane\(\)/gm)].map(([, name = '']) => name);
    const [, all = ''] = /^ {2}side_by_side (.*)$/m.exec(run ?? '') ?? [];
    const lanes = all.split(' ');
    const atNight = (name: string) => night?.includes(`npm run -s test:${name}`);
    const others = names.filter((name) => ![...lanes, 'nightly', 'run'].includes(name));
    expect(others.filter((name) => !atNight(name))).toEqual([]);
    const { strategy } = workflows.get('ci.yml')?.jobs['lane'] ?? {};
    const { matrix } = z.object({ matrix: z.object({ lane: z.array(z.string()) }) }).parse(strategy);
    expect([...matrix.lane].sort()).toEqual(lanes.sort());
  });
});

describe('a release', () => {
  const made = mkdtempSync(path.join(tmpdir(), 'lfs-quota-workflow-'));
  afterAll(() => rmSync(made, { recursive: true }));
  const release = workflows.get('release.yml');
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

  function runStep(name: string, cwd: string, env: Record<string, string>) {
    const { run = '' } = (release ? stepsOf(release) : []).find((each) => each.name === name) ?? {};
    expect(run).not.toBe('');
    const { PATH = '' } = process.env;
    return spawnSync('bash', ['-eo', 'pipefail', '-c', run], {
      cwd,
      env: { PATH, ...env },
      encoding: 'utf8',
    });
  }

  it('needs a tag with the version of the package, and its part of the changelog', () => {
    const check = 'The tag is the version, and the changelog has it';
    const checked = (tag: string, changelog: string) => {
      const cwd = mkdtempSync(path.join(made, 'checkout-'));
      writeFileSync(path.join(cwd, 'package.json'), '{"version":"1.2.0"}');
      writeFileSync(path.join(cwd, 'CHANGELOG.md'), changelog);
      const { status } = runStep(check, cwd, { GITHUB_REF_NAME: tag });
      return [status, status === 0 && readFileSync(path.join(cwd, 'notes.md'), 'utf8')];
    };
    const changelog =
      '# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-12-01\n\nNew.\n\n### Fixed\n\n- A bug.\n\n## 1.1.0 - x\n\nOld.\n';
    expect(checked('v1.2.0', changelog)).toEqual([0, '\nNew.\n\n### Fixed\n\n- A bug.\n\n']);
    expect(checked('v1.2.1', changelog)).toEqual([1, false]);
    expect(checked('v1.2.0', changelog.replace('1.2.0', '1.2.00'))).toEqual([1, false]);
  });

  it('is described in the changelog', () => {
    const changelog = readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8');
    expect(changelog).toMatch(new RegExp(`^## ${version} - (\\d{4}-\\d\\d-\\d\\d|not yet released)$`, 'm'));
  });

  it('is published to npm as it was packed, but for what keeps a checkout private', () => {
    const bin = path.join(made, 'bin');
    for (const each of [bin, path.join(made, 'package'), path.join(made, 'release')]) mkdirSync(each);
    const npm = execFileSync('bash', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
    const stub = `#!/bin/sh\nif [ "$1" = publish ]; then echo "$@" >published; else exec "${npm}" "$@"; fi\n`;
    writeFileSync(path.join(bin, 'npm'), stub, { mode: 0o755 });
    const {
      private: isPrivate,
      scripts,
      ...kept
    } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
    expect([isPrivate, scripts.prepack]).toEqual([true, 'node --import tsx bin/pack.ts']);
    writeFileSync(
      path.join(made, 'package/package.json'),
      JSON.stringify({ ...kept, private: true, scripts }),
    );
    execFileSync('tar', ['czf', 'release/lfs-quota.tgz', 'package'], { cwd: made });
    const ended = runStep('Publish', made, {
      PATH: `${bin}:${process.env['PATH']}`,
      HOME: made,
      GITHUB_SERVER_URL: 'https://github.com',
      GITHUB_REPOSITORY: 'acme/lfs-quota',
    });
    expect(ended.status, ended.stderr).toBe(0);
    expect(readFileSync(path.join(made, 'package/published'), 'utf8')).toBe(
      'publish --provenance --access public --ignore-scripts\n',
    );
    expect(JSON.parse(readFileSync(path.join(made, 'package/package.json'), 'utf8'))).toEqual({
      ...kept,
      repository: { type: 'git', url: 'git+https://github.com/acme/lfs-quota.git' },
    });
  });
});

describe('dependabot', () => {
  const named = z.array(z.object({ 'dependency-name': z.string() }));
  const { updates } = z
    .object({
      updates: z.array(
        z.object({ 'package-ecosystem': z.string(), allow: named.default([]), ignore: named.default([]) }),
      ),
    })
    .parse(parse(readFileSync(path.join(root, '.github/dependabot.yml'), 'utf8')));
  const namesOf = (list: z.output<typeof named>) => list.map((each) => each['dependency-name']);
  const npm = updates.find((each) => each['package-ecosystem'] === 'npm');
  const { engines, devDependencies }: { engines: { node: string }; devDependencies: Record<string, string> } =
    JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

  it('watches what the package and the functions contain, and no tool', () => {
    const ofProduct = imports.filter(
      ({ from, isType }) => /^(cli|console\/src|lambda|local)\//.test(from) && !isType,
    );
    const names = ofProduct
      .map(({ to }) => (to.startsWith('@') ? to.split('/').slice(0, 2).join('/') : (to.split('/')[0] ?? '')))
      .filter((name) => name in devDependencies)
      .map((name) => name.replace(/^(@aws-lambda-powertools|@aws-sdk|@smithy)\/.*/, '$1/*'));
    expect(namesOf(npm?.allow ?? [])).toEqual([...new Set(names)].sort());
  });

  it('leaves out the AWS SDK, as long as Node 20 is enough', () => {
    expect(namesOf(npm?.ignore ?? [])).toEqual(
      engines.node.startsWith('>=20.') ? ['@aws-sdk/*', '@smithy/*'] : [],
    );
  });
});

describe('the action', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'lfs-quota-action-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Runs it with stand-ins for what it calls. @param answer of the server: what jq finds in it. */
  function exchange(answer: {
    readonly detail?: string;
    readonly token?: string;
    readonly expiresAt?: string;
  }) {
    const said = '*.token*) test -n "$TOKEN" && echo "$TOKEN";; *.expiresAt*) echo "$EXPIRES";;';
    // Each reads its input to the end, since who writes it would fail.
    for (const [name, script] of [
      ['curl', 'echo x'],
      ['git', 'test "$1" != config || echo "$@" >>configured'],
      ['jq', `case "$*" in *detail*) printf '%s' "$DETAIL";; ${said} *) echo x;; esac`],
    ] as const)
      writeFileSync(path.join(folder, name), `#!/bin/sh\ncat >/dev/null\n${script}\n`, { mode: 0o755 });
    const script = path.join(root, '.github/actions/setup-lfs-quota/exchange.sh');
    const output = path.join(folder, 'output');
    writeFileSync(output, '');
    const env = {
      PATH: `${folder}:${process.env['PATH']}`,
      DETAIL: answer.detail,
      TOKEN: answer.token,
      EXPIRES: answer.expiresAt,
      LFS_QUOTA_SERVER: 'https://lfs.example.com/',
      LFS_QUOTA_TENANT: 'acme',
      ACTIONS_ID_TOKEN_REQUEST_URL: 'https://example.com',
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 't',
      GITHUB_OUTPUT: output,
    };
    const { status, stdout } = spawnSync('bash', [script], { cwd: folder, env, encoding: 'utf8' });
    return { status, lines: stdout.split('\n'), output: readFileSync(output, 'utf8') };
  }

  it('shows what a server says as one error, whatever is in it', () => {
    const detail = '100%\r\n::set-env name=PATH::/evil\n::stop-commands::%0A::error::';
    const escaped = '100%25%0D%0A::set-env name=PATH::/evil%0A::stop-commands::%250A::error::';
    const error = `::error::${escaped} See which rules apply: lfs-quota rule list acme`;
    expect(exchange({ detail })).toEqual({ status: 1, lines: ['::add-mask::x', error, ''], output: '' });
  });

  it('takes no token with another line', () => {
    for (const token of ['lfsq_a\n::set-env name=PATH::/evil', 'abc', 'lfsq_'])
      expect(exchange({ token })).toEqual({
        status: 1,
        lines: [
          '::add-mask::x',
          '::error::The response of https://lfs.example.com has no token of lfs-quota.',
          '',
        ],
        output: '',
      });
  });

  it('has one output', () => {
    const { status, output } = exchange({ token: 'lfsq_a1', expiresAt: '2026\nevil=x' });
    expect([status, output]).toEqual([0, 'expires-at=2026evil=x\n']);
  });
});
