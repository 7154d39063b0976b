import type { Log } from '../../lambda/core/rules/clock-and-log.ts';

export interface LoggedEntry {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

/** A log that keeps its entries. */
export function recordingLog(): { log: Log; entries: LoggedEntry[] } {
  const entries: LoggedEntry[] = [];
  const record =
    (level: LoggedEntry['level']) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      void entries.push({ level, message, fields });
  return { log: { info: record('info'), warn: record('warn'), error: record('error') }, entries };
}
