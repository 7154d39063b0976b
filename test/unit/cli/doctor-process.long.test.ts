import { spawn } from 'node:child_process';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Faults, LyingStore } from '../../support/lying-store.ts';
import { plainEnvironment } from '../../support/process.ts';
import { credentials } from '../../support/store-fixture.ts';

const timeoutMs = 60_000;
const script = path.join(import.meta.dirname, '../../../bin/lfs-quota.js');

let store: LyingStore | undefined;
afterEach(() => store?.stop());

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly err: string;
}

/** Runs the doctor in a process of its own, to which the store may send signals. */
async function runDoctor(faultsOf: (interrupt: () => void) => Faults): Promise<Ended> {
  let interrupt = () => {};
  store = await LyingStore.start(faultsOf(() => interrupt()));
  const { accessKeyId, secretAccessKey } = credentials;
  const keys = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  const args = [script, 'doctor', 's3://objects', '--endpoint', store.url];
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
      instead: ({ number }) => void (number === 51 && interrupt()),
    }));
    expect({ code, signal }).toEqual({ code: 130, signal: null });
    expect(err).toContain('error: Interrupted before all checks ran.\n');
    expect(store?.asked.some(({ method }) => method === 'PUT')).toBe(true);
    expect((await store?.left())?.keys).toEqual([]);
  });

  it('a second time ends it at once, and it has said where something is left', async () => {
    const { code, signal, err } = await runDoctor((interrupt) => ({
      instead: ({ method, number }) => {
        if (number === 31) interrupt();
        if (number <= 31 || method !== 'DELETE') return undefined;
        interrupt();
        return new Promise(() => {});
      },
    }));
    expect({ code, signal }).toEqual({ code: null, signal: 'SIGINT' });
    const [, prefix = '?'] = /below s3:\/\/objects\/(lfs-quota-doctor-\w+\/)\n$/.exec(err) ?? [];
    const left = (await store?.left())?.keys ?? [];
    expect(left.filter((key) => key.startsWith(prefix)).length).toBeGreaterThan(0);
  });
});
