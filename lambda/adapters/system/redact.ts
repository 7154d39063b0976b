/**
 * What a log is told, without what must not be logged: tokens, credentials, and what would make a URL a signed
 * one. Nobody is to hand these to a log; an error of a library may.
 */
export function redact(fields: Record<string, unknown>): Record<string, unknown> {
  const clean: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) clean[key] = cleanField(key, value, 0);
  return clean;
}

const secretField = /token$|secret|password|authorization|credential|signature|href|url$/i;

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
    .replace(/\b(lfs[qv]_)[A-Za-z0-9]{8,}/g, '$1…')
    .replace(/\?[^\s"']*X-Amz-Signature=[^\s"']*/gi, '?…')
    .replace(/\b(Basic|Bearer) [A-Za-z0-9+/=._~-]{8,}/gi, '$1 …');
}
