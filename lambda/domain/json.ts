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

/** The value of a JSON text. undefined if the text is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
