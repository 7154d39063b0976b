import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  Clock,
  ConsoleFiles,
  Ids,
  Invocation,
  Invocations,
  Log,
  PackedConsole,
} from '../rules/system.ts';
import { errorChain, redactText, thrownAt } from '../rules/text.ts';

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (durationMs) => delay(durationMs),
};

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Random base62 from the system's cryptographic source. Bytes that would favour some digits are skipped. */
export const systemIds: Ids = {
  random(length) {
    let text = '';
    while (text.length < length) {
      for (const byte of randomBytes(length * 2)) {
        if (byte < 62 * 4 && text.length < length) text += base62[byte % 62];
      }
    }
    return text;
  },
};

/**
 * The current invocation, from the asynchronous context: one process may run many at a time.
 *
 * @param options.firstIsCold marks the first one as a cold start: it waited for the process to start.
 */
export function createInvocations(options: { firstIsCold?: boolean } = {}): Invocations {
  const running = new AsyncLocalStorage<Invocation>();
  let isCold = options.firstIsCold ?? false;
  return {
    during(invocation, work) {
      const begun = isCold ? { ...invocation, coldStart: true as const } : invocation;
      isCold = false;
      return running.run(begun, work);
    },
    current: () => running.getStore() ?? {},
  };
}

type Fields = Record<string, unknown>;

/** A log that adds the ids of the current invocation to every line. A field of the line itself takes precedence. */
export function createInvocationLog(log: Log, invocations: Invocations): Log {
  // The ids come last, because people first read what happened.
  const named = (fields: Fields = {}) => ({ ...fields, ...invocations.current(), ...fields });
  return {
    info: (message, fields) => log.info(message, named(fields)),
    warn: (message, fields) => log.warn(message, named(fields)),
    error: (message, fields) => log.error(message, named(fields)),
  };
}

/**
 * The fields of a log line, without tokens, credentials and the signatures of URLs. No caller may log these, but an
 * error of a library may contain them.
 */
export function redact(fields: Record<string, unknown>): Record<string, unknown> {
  const redacted: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) redacted[key] = redactField(key, value, 0);
  return redacted;
}

const secretField = /token$|secret|password|authorization|credential|signature|href|url$/i;

/** Deeper than any log line needs. Also stops at circular references. */
const depthMax = 6;

function redactField(key: string, value: unknown, depth: number): unknown {
  if (secretField.test(key) && typeof value === 'string') return '(not logged)';
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= depthMax) return '…';
  if (value instanceof Error) return describeError(value);
  if (Array.isArray(value)) return value.slice(0, 20).map((item) => redactField('', item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, redactField(name, item, depth + 1)]),
  );
}

/** The one format in which the log shows an error. */
function describeError(error: Error): unknown {
  const at = thrownAt(error);
  return { message: redactText(errorChain(error)), ...(at !== undefined && { thrownAt: redactText(at) }) };
}

interface RoleCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * The credentials of the function's role. Lambda puts them into the environment, and starts a new process before they
 * expire.
 *
 * @throws {Error} when the variables are missing.
 */
export function roleCredentials(env: Readonly<Record<string, string | undefined>>): RoleCredentials {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY)
    throw new Error('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set. Lambda sets both.');
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
  };
}

/** The files that a deployment puts beside the function's bundle. They are read once a container. */
export function createConsoleFiles(file: URL = new URL('console.json', import.meta.url)): ConsoleFiles {
  let files: Promise<PackedConsole> | undefined;
  return {
    read() {
      files ??= readFile(file, 'utf8').then((text): PackedConsole => JSON.parse(text));
      return files;
    },
  };
}
