import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { plainEnvironment, signalGroup } from '../support/process.ts';

const answerTimeoutMs = 30_000;

/**
 * Runs one event through a function's bundle as Lambda does: in its own process, with `_HANDLER` and the runtime API.
 *
 * @param input.bundle the folder that is deployed. It holds `index.mjs`.
 * @returns the function's answer, and what it printed.
 */
export async function invokeBundle(input: {
  rie: string;
  bundle: string;
  environment: Readonly<Record<string, string>>;
  event: unknown;
}): Promise<{ answer: Record<string, unknown>; log: string }> {
  const [port, apiPort] = [await freePort(), await freePort()];
  const args = [
    ...['--runtime-interface-emulator-address', `127.0.0.1:${port}`],
    ...['--runtime-api-address', `127.0.0.1:${apiPort}`],
    join(import.meta.dirname, 'bootstrap.mjs'),
    'index.handler',
  ];
  const child = spawn(input.rie, args, {
    env: { ...plainEnvironment(), ...input.environment, LAMBDA_TASK_ROOT: input.bundle },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  }
  try {
    const url = `http://127.0.0.1:${port}/2015-03-31/functions/function/invocations`;
    const answer = await untilAnswered(url, JSON.stringify(input.event));
    // The answer may arrive before the lines that were printed on the way to it.
    await untilTrue(() => log.includes('INIT RTDONE('));
    return { answer, log };
  } catch (cause) {
    throw new Error(`The bundle did not answer:\n${log}`, { cause });
  } finally {
    signalGroup(child.pid, 'SIGKILL');
    await closed;
  }
}

/** Waits until the condition holds or the time is up. */
async function untilTrue(isTrue: () => boolean): Promise<void> {
  const giveUpAtMs = performance.now() + answerTimeoutMs;
  while (!isTrue() && performance.now() < giveUpAtMs) await sleep(20);
}

async function untilAnswered(url: string, body: string): Promise<Record<string, unknown>> {
  const giveUpAtMs = performance.now() + answerTimeoutMs;
  for (;;) {
    const signal = AbortSignal.timeout(answerTimeoutMs);
    const response = await fetch(url, { method: 'POST', body, signal }).catch((error: unknown) => {
      if (performance.now() > giveUpAtMs) throw error;
    });
    if (response) return (await response.json()) as Record<string, unknown>;
    await sleep(50);
  }
}
