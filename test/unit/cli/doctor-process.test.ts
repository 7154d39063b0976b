import { spawn } from 'node:child_process';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeS3, fakeCredentials, type Misbehaviour } from '../../support/fake-s3/server.ts';
import { plainEnvironment } from '../../support/process.ts';

const timeoutMs = 60_000;
const script = path.join(import.meta.dirname, '../../../bin/lfs-quota.js');

let store: FakeS3 | undefined;
afterEach(() => store?.close());

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly err: string;
}

/** Runs the doctor in a process of its own, to which the store may send signals. */
async function runDoctor(faultsOf: (interrupt: () => void) => Misbehaviour): Promise<Ended> {
  let interrupt = () => {};
  store = new FakeS3(faultsOf(() => interrupt()));
  const { accessKeyId, secretAccessKey } = fakeCredentials;
  const keys = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  const args = [script, 'doctor', 's3://objects', '--endpoint', await store.listen()];
  const child = spawn(process.execPath, args, {
    env: { ...plainEnvironment(), ...keys },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  interrupt = () => void child.kill('SIGINT');
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, err }));
  });
}

describe('Ctrl-C', { timeout: timeoutMs }, () => {
  it('cleans up, and exits with 130', async () => {
    const { code, signal, err } = await runDoctor((interrupt) => ({
      instead: (_, { asked }) => void (asked.length === 50 && interrupt()),
    }));
    expect({ code, signal }).toEqual({ code: 130, signal: null });
    expect(err).toContain('error: Interrupted before all checks were made.\n');
    expect(store?.asked.some(({ method }) => method === 'PUT')).toBe(true);
    expect([...(store?.objects.keys() ?? [])]).toEqual([]);
  });

  it('a second time ends it at once, and it has said where something is left', async () => {
    const { code, signal, err } = await runDoctor((interrupt) => ({
      instead: (request, { asked }) => {
        if (asked.length === 30) interrupt();
        if (asked.length <= 30 || request.method !== 'DELETE') return undefined;
        interrupt();
        return new Promise(() => {});
      },
    }));
    expect({ code, signal }).toEqual({ code: null, signal: 'SIGINT' });
    const [, prefix = '?'] = /below s3:\/\/objects\/(lfs-quota-doctor-\w+\/)\n$/.exec(err) ?? [];
    expect([...(store?.objects.keys() ?? [])].filter((key) => key.startsWith(prefix)).length).toBeGreaterThan(
      0,
    );
  });
});
