import type { Invocations } from '../../ports/invocation.ts';
import type { Log } from '../../ports/log.ts';

type Fields = Record<string, unknown>;

/** A log whose every line names the run that it is of; what a line says itself goes before. */
export function createInvocationLog(log: Log, invocations: Invocations): Log {
  // The ids stand last, as people read what happened first.
  const named = (fields: Fields = {}) => ({ ...fields, ...invocations.current(), ...fields });
  return {
    info: (message, fields) => log.info(message, named(fields)),
    warn: (message, fields) => log.warn(message, named(fields)),
    error: (message, fields) => log.error(message, named(fields)),
  };
}
