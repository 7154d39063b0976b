import { AsyncLocalStorage } from 'node:async_hooks';
import type { Invocation, Invocations, Log } from '../../core/rules/clock-and-log.ts';
import { errorChain, redactText, thrownAt } from '../../core/rules/text.ts';

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
