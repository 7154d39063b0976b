import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { RawAnswer } from '../../../support/raw-request.ts';
import { sendRaw } from '../../../support/raw-request.ts';
import { type SignedInput, signHeaders } from '../../../support/store-fixture.ts';

const script = path.join(import.meta.dirname, 'kill-child.ts');

/** Starts a store in a process of its own, for a test that kills it. */
export async function spawnStore(dataDir: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', script, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  return { child, url: line.toString().trim() };
}

/** Sends a signed request. @returns undefined if there was no whole answer. */
export async function trySend(url: string, input: SignedInput): Promise<RawAnswer | undefined> {
  const { href, headers } = await signHeaders(url, input);
  const { method, body } = input;
  return await sendRaw({ href, method, headers, ...(body !== undefined && { body }) }).catch(() => undefined);
}
