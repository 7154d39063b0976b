import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { plainEnvironment, run } from '../../../support/process.ts';
import { credentials } from '../../../support/store-fixture.ts';

const root = path.join(import.meta.dirname, '../../../..');

export interface DuEnded {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

interface DuChild {
  readonly child: ChildProcess;
  readonly ended: Promise<DuEnded>;
}

/** The command line as one file, as it is packed. */
export interface BuiltCli {
  /** Starts `lfs-quota du` in a process of its own. */
  start(args: readonly string[]): DuChild;
  remove(): Promise<void>;
}

export async function buildCli(): Promise<BuiltCli> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lfs-quota-du-'));
  const script = path.join(folder, 'dist', 'lfs-quota.js');
  await cp(path.join(root, 'package.json'), path.join(folder, 'package.json'));
  const env = plainEnvironment();
  const args = ['--import', 'tsx', path.join(root, 'bin/pack.ts'), path.dirname(script)];
  const built = await run(process.execPath, args, { cwd: root, env, timeoutMs: 60_000 });
  if (built.code !== 0) throw new Error(`The command line could not be built:\n${built.err}`);
  const { accessKeyId, secretAccessKey } = credentials;
  const keys = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, HOME: folder };
  return {
    start: (duArgs) => startDu([script, 'du', ...duArgs], { ...env, ...keys }),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

function startDu(args: readonly string[], env: Record<string, string>): DuChild {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = new Promise<DuEnded>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, out, err }));
  });
  return { child, ended };
}
