import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Context } from 'aws-lambda';
import { serve } from '../serve.ts';
import { measured, type Used, usedSince } from '../usage.ts';

/** A start, until the function takes requests. Lambda bills it, and gives it a full core. */
export interface Start extends Used {
  readonly codeBytes: number;
  readonly gzippedBytes: number;
}

/** A call: what it used, and its answer. */
export type Invoked = Used & { readonly result: unknown };

const timeoutMs = 300_000;
const [bundle = ''] = process.argv.slice(2);
const { handler } = (await import(bundle)) as {
  handler: (event: unknown, context: Context) => Promise<unknown>;
};
const used = usedSince(0);
const code = readFileSync(bundle);
const start: Start = { ...used, codeBytes: code.length, gzippedBytes: gzipSync(code).length };

serve((event: unknown) => {
  const startedMs = performance.now();
  const getRemainingTimeInMillis = () => timeoutMs - (performance.now() - startedMs);
  return measured(() => handler(event, { awsRequestId: 'bench', getRemainingTimeInMillis } as Context));
}, start);
