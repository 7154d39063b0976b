import type { Invocations } from '../../ports/invocations.ts';
import type { Log } from '../../ports/log.ts';

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
