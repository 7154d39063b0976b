import { errorChain, thrownAt } from '../../domain/error-chain.ts';

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

/** Removes tokens and the queries of signed URLs from a text. */
function redactText(text: string): string {
  return text
    .replace(/\b(lfs[qv]_)[A-Za-z0-9]{8,}/g, '$1…')
    .replace(/\b(whsec_)[A-Za-z0-9+/=]{8,}/g, '$1…')
    .replace(/\?[^\s"']*X-Amz-Signature=[^\s"']*/gi, '?…')
    .replace(/\b(Basic|Bearer) [A-Za-z0-9+/=._~-]{8,}/gi, '$1 …');
}
