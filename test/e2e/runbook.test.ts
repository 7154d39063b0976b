import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeWithJq } from '../support/describe-with.ts';
import { docBlocks } from '../support/doc-blocks.ts';

/** The block of docs/runbook.md that has this command, which is there once. */
function blockWith(command: string): string {
  const [block, ...others] = docBlocks('docs/runbook.md').filter(({ text }) => text.includes(command));
  if (block === undefined || others.length > 0) throw new Error(`Not one block has ${command}.`);
  return block.text;
}

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lfs-quota-runbook-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/**
 * Pastes a block into a shell whose `aws` is a function of its arguments. @param answers the body of it: it returns what is
 * printed, and keeps what it needs in `state`.
 * @returns the calls that changed something.
 */
function paste(block: string, { answers, env = {} }: { answers: string; env?: Record<string, string> }) {
  const aws = `#!${process.execPath}
const fs = require('node:fs');
const args = process.argv.slice(2);
const [service, command] = args;
const valueOf = (option) => args[args.indexOf(option) + 1];
const file = ${JSON.stringify(join(folder, 'state.json'))};
const state = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : { calls: [] };
const answer = (() => { ${answers} })();
fs.writeFileSync(file, JSON.stringify(state));
process.stdout.write(answer === undefined ? '' : typeof answer === 'string' ? answer + '\\n' : JSON.stringify(answer));
`;
  writeFileSync(join(folder, 'aws'), aws, { mode: 0o700 });
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', block], {
    cwd: folder,
    env: { PATH: `${folder}:${process.env['PATH']}`, ...env },
    encoding: 'utf8',
  });
  const { calls } = JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8'));
  return { status, stdout, stderr, calls };
}

describeWithJq('docs/runbook.md, without AWS', () => {
  it('deletes the limits of routes that are gone, and of no other', () => {
    const kept = ['GET /', 'GET /health', 'POST /{tenant}/{repo}/info/lfs/objects/batch'];
    const gone = ['POST /{tenant}/{repo}/objects/new', 'PUT /v1/new/{id}'];
    const limited = Object.fromEntries([...kept.slice(1), ...gone, '$default'].map((key) => [key, {}]));
    const answers = `
      if (command === 'list-stack-resources') return 'a1b2c3';
      if (valueOf('--api-id') !== 'a1b2c3') throw new Error('another API');
      if (command === 'get-routes') return { Items: ${JSON.stringify([...kept, '$default'])}.map((RouteKey) => ({ RouteKey })) };
      if (valueOf('--stage-name') !== '$default') throw new Error('another stage');
      if (command === 'get-stage') return { RouteSettings: ${JSON.stringify(limited)} };
      state.calls.push([command, valueOf('--route-key')]);`;
    expect(paste(blockWith('delete-route-settings'), { answers })).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
      calls: gone.map((route) => ['delete-route-settings', route]),
    });
  });

  it('deletes no limit if it learns of no route', () => {
    const answers = `
      if (command === 'get-routes') process.exit(254);
      if (command === 'get-stage') return { RouteSettings: { $default: {} } };
      if (command !== 'list-stack-resources') state.calls.push(command);`;
    expect(paste(blockWith('delete-route-settings'), { answers }).calls).toEqual([]);
  });

  it('empties a bucket page by page, with versions and delete markers', () => {
    const answers = `
      if (valueOf('--bucket') !== 'objects') throw new Error('another bucket');
      state.left ??= [{ Key: 'a/b/"1"', VersionId: '1' }, { Key: 'a/b/2', VersionId: '2' }, { Key: 'a/b/3', VersionId: '3', marker: true }];
      if (command === 'list-object-versions') {
        if (!args.includes('--no-paginate')) throw new Error('more than a request can delete');
        const page = state.left.slice(0, 2);
        const of = (isMarker) => page.filter((each) => (each.marker ?? false) === isMarker).map((each) => ({ ...each, Size: 1 }));
        const [Versions, DeleteMarkers] = [of(false), of(true)];
        if (page.length === 0) return { RequestCharged: null };
        return { ...(Versions.length > 0 && { Versions }), ...(DeleteMarkers.length > 0 && { DeleteMarkers }) };
      }
      const { Objects, Quiet } = JSON.parse(fs.readFileSync(valueOf('--delete').replace('file://', ''), 'utf8'));
      state.left = state.left.filter(({ Key, VersionId }) => !Objects.some((each) => each.Key === Key && each.VersionId === VersionId));
      state.calls.push([Quiet, ...Objects.map(({ Key, VersionId, ...rest }) => [Key, VersionId, Object.keys(rest)])]);`;
    expect(paste(blockWith('delete-objects'), { answers, env: { BucketName: 'objects' } })).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
      calls: [
        [true, ['a/b/"1"', '1', []], ['a/b/2', '2', []]],
        [true, ['a/b/3', '3', []]],
      ],
    });
  });

  const held = { Key: 'a/b/1', VersionId: '1', Code: 'AccessDenied', Message: 'Held until 2027' };
  it.each([
    ['a deletion', 'delete-objects', `return { Errors: [${JSON.stringify(held)}] };`, held],
    ['each deletion', 'delete-objects', 'process.exit(254);', undefined],
    ['to list', 'list-object-versions', 'process.exit(254);', undefined],
  ])('stops emptying a bucket once S3 refuses %s', (_, refused, refuse, shown) => {
    const answers = `
      state.calls.push(command);
      fs.writeFileSync(file, JSON.stringify(state));
      if (state.calls.length > 5) process.kill(process.ppid);
      if (command === '${refused}') { ${refuse} }
      if (command === 'list-object-versions') return { Versions: [{ Key: 'a/b/1', VersionId: '1' }] };`;
    const { status, stdout } = paste(blockWith('delete-objects'), {
      answers,
      env: { BucketName: 'objects' },
    });
    expect(status).toBe(refused === 'delete-objects' ? 1 : 0);
    expect(stdout && JSON.parse(stdout)).toEqual(shown ?? '');
  });

  it('shows why a rollback failed before it continues', () => {
    const answers = `
      state.calls.push(command);
      if (command !== 'describe-stack-events') return;
      return { StackEvents: [{ LogicalResourceId: 'ApiStage', ResourceStatus: 'UPDATE_FAILED', ResourceStatusReason: 'No' }] };`;
    expect(paste(blockWith('continue-update-rollback'), { answers })).toMatchObject({
      status: 0,
      calls: ['describe-stack-events', 'continue-update-rollback'],
    });
  });
});
