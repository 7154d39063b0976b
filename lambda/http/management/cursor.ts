/**
 * A list's cursor: the key of the last item of a page, encoded. A client hands it back as it is, so what stands in
 * it may change.
 */
export function encodeCursor(lastKey: string): string {
  return `c${Buffer.from(lastKey).toString('base64url')}`;
}

/** @returns undefined when the text is no cursor. */
export function decodeCursor(text: string): string | undefined {
  const lastKey = Buffer.from(text.slice(1), 'base64url').toString('utf8');
  return encodeCursor(lastKey) === text ? lastKey : undefined;
}
