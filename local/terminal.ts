import type { Invocation, Log } from '../lambda/core/rules/clock-and-log.ts';
import { release } from '../lambda/core/rules/release.ts';
import { redact } from '../lambda/frame/aws/invocation-log.ts';

interface TerminalLogOptions {
  /** `text` for people, `json` for machines. Both have one line for each entry. */
  readonly format: 'text' | 'json';
  readonly write: (line: string) => void;
  readonly now: () => Date;
}

type Level = 'info' | 'warn' | 'error';

/** The embedded stack's log. */
export function createTerminalLog(options: TerminalLogOptions): Log {
  const log = (level: Level, message: string, fields: Record<string, unknown> = {}) => {
    const time = options.now().toISOString();
    const entry = options.format === 'json' ? jsonLine : textLine;
    options.write(entry({ level, time, message, fields: redact(fields) }));
  };
  return {
    info: (message, fields) => log('info', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    error: (message, fields) => log('error', message, fields),
  };
}

interface Entry {
  readonly level: Level;
  readonly time: string;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

function jsonLine({ level, time, message, fields }: Entry): string {
  return `${JSON.stringify({ level, time, message, ...fields, ...release })}\n`;
}

/** Refers to Lambda's own log lines, which do not exist here. */
const functionRequestId = 'functionRequestId' satisfies keyof Invocation;

/** `05:00:00 warn message key=value …`. The level `info` is left out. */
function textLine({ level, time, message, fields }: Entry): string {
  const pairs = Object.entries(fields)
    .filter(([key, value]) => key !== functionRequestId && value !== undefined)
    .map(([key, value]) => `${key}=${plain(value)}`);
  return `${[time.slice(11, 19), ...(level === 'info' ? [] : [level]), message, ...pairs].join(' ')}\n`;
}

/** Simple text as it is, anything else as JSON, so that no value can break the line or control the terminal. */
function plain(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@+-]+$/.test(value)) return value;
  return JSON.stringify(value) ?? 'undefined';
}
