/**
 * Controls, bidi marks, halves of surrogate pairs, private and unassigned characters: a terminal or a page that shows them
 * shows something else. Persian, Hindi and emoji need the two joiners.
 */
const hidden = /(?!\u200c|\u200d)[\p{C}\u2028\u2029]/u;
/** Marked as pure, so that a bundle which doesn't use it, such as the console's page, leaves it out. */
const eachHidden = /* @__PURE__ */ new RegExp(hidden, 'gu');

/** Whether a text has no character that hides or moves others. */
export function isPlainText(text: string): boolean {
  return !hidden.test(text);
}

/** A text without them, to be shown: an older version took them. */
export function plainText(text: string): string {
  return text.replace(eachHidden, '');
}

/** A text without tokens, signatures, and credentials: for a log line, or what is kept of a request. */
export function redactText(text: string): string {
  return (
    text
      .replace(/\b(lfs[a-z]_)[A-Za-z0-9]{8,}/g, '$1…')
      .replace(/\b(whsec_)[A-Za-z0-9+/=]{8,}/g, '$1…')
      .replace(/\?[^\s"']*X-Amz-Signature=[^\s"']*/gi, '?…')
      .replace(/\b(Basic|Bearer) [A-Za-z0-9+/=._~-]{8,}/gi, '$1 …')
      // What a service quotes of a request that it refuses.
      .replace(/\b((?:Credential|Signature)=|X-Amz-Security-Token[=:] ?)[^\s"'&,<]+/gi, '$1…')
  );
}

const causesMax = 5;

/** Names and messages of an error and its causes, the outermost first: `A: text < B: text`. At most 5 of them. */
export function errorChain(error: unknown): string {
  return chainOf(error)
    .map((cause) => (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)))
    .join(' < ');
}

/** The line of the stack trace at which the innermost cause was thrown. */
export function thrownAt(error: unknown): string | undefined {
  const innermost = chainOf(error).findLast((cause) => cause instanceof Error);
  return innermost?.stack
    ?.split('\n')
    .find((line) => /^\s+at /.test(line))
    ?.trim();
}

function chainOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let cause = error; cause !== undefined && causes.length < causesMax; ) {
    causes.push(cause);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}

/** Whether a JSON value has, however deep, a field `__proto__`. Schemas drop it without a word. */
export function hasPrototypeField(value: unknown): boolean {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (Object.hasOwn(next, '__proto__')) return true;
    for (const inner of Object.values(next)) left.push(inner);
  }
  return false;
}

/** The value of a JSON text. undefined if the text is not valid JSON. @param reviver as of `JSON.parse`. */
export function parseJson(text: string, reviver?: (key: string, value: unknown) => unknown): unknown {
  try {
    return JSON.parse(text, reviver);
  } catch {
    return undefined;
  }
}

/** As a URL has it. */
export const isLoopbackHost = (hostname: string) => hostname === '127.0.0.1' || hostname === '[::1]';
