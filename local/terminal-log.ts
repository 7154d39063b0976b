import type { Log } from '../lambda/ports/log.ts';

export interface TerminalLogOptions {
  /** `text` for people, `json` for machines: one line an entry either way. */
  readonly format: 'text' | 'json';
  readonly write: (line: string) => void;
  readonly now: () => Date;
}

type Level = 'info' | 'warn' | 'error';

/** The embedded stack's log. What must not be logged is taken out here too, should it ever arrive. */
export function createTerminalLog(options: TerminalLogOptions): Log {
  const log = (level: Level, message: string, fields: Record<string, unknown> = {}) => {
    const time = options.now().toISOString();
    const entry = options.format === 'json' ? jsonLine : textLine;
    options.write(entry({ level, time, message, fields: cleanFields(fields) }));
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
  return `${JSON.stringify({ level, time, message, ...fields })}\n`;
}

/** `05:00:00 warn message key=value …`; `info` is not written out. */
function textLine({ level, time, message, fields }: Entry): string {
  const pairs = Object.entries(fields).map(([key, value]) => `${key}=${plain(value)}`);
  return `${[time.slice(11, 19), ...(level === 'info' ? [] : [level]), message, ...pairs].join(' ')}\n`;
}

/** Bare where it can be read so, as JSON otherwise: no value can break the line or steer the terminal. */
function plain(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@+-]+$/.test(value)) return value;
  return JSON.stringify(value) ?? 'undefined';
}

const secretField = /token$|secret|password|authorization|credential|signature|href|url$/i;

function cleanFields(fields: Record<string, unknown>): Record<string, unknown> {
  const clean: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) clean[key] = cleanField(key, value, 0);
  return clean;
}

/** Deeper than any entry needs to be; also ends what refers to itself. */
const depthMax = 6;

function cleanField(key: string, value: unknown, depth: number): unknown {
  if (secretField.test(key) && typeof value === 'string') return '(not logged)';
  if (typeof value === 'string') return cleanText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= depthMax) return '…';
  if (value instanceof Error) return describeError(value, depth);
  if (Array.isArray(value)) return value.slice(0, 20).map((item) => cleanField('', item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, cleanField(name, item, depth + 1)]),
  );
}

/** Names, messages and causes, the outermost first, and where the innermost was thrown. */
function describeError(error: Error, depth: number): unknown {
  const messages: string[] = [];
  let innermost = error;
  for (
    let cause: unknown = error;
    cause instanceof Error && messages.length < depthMax - depth;
    cause = cause.cause
  ) {
    messages.push(cleanText(`${cause.name}: ${cause.message}`));
    innermost = cause;
  }
  const thrownAt = innermost.stack
    ?.split('\n')
    .find((line) => /^\s+at /.test(line))
    ?.trim();
  return {
    message: messages.join(' < '),
    ...(thrownAt === undefined ? {} : { thrownAt: cleanText(thrownAt) }),
  };
}

/** Tokens, and queries of signed URLs, wherever they stand in a text. */
function cleanText(text: string): string {
  return text
    .replace(/lfsq_[A-Za-z0-9]{8,}/g, 'lfsq_…')
    .replace(/\?[^\s"']*X-Amz-Signature=[^\s"']*/gi, '?…')
    .replace(/\b(Basic|Bearer) [A-Za-z0-9+/=._~-]{8,}/gi, '$1 …');
}
