import * as z from 'zod';

const issueCharactersMax = 200;

/** The first thing that a schema found wrong, in a few words: `limitBytes: must be …`. */
export function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (!issue) return "it's invalid";
  const path = issue.path.join('.');
  const text = path ? `${path}: ${issue.message}` : issue.message;
  return text.length > issueCharactersMax ? `${text.slice(0, issueCharactersMax)}…` : text;
}

/**
 * A list. Its length is checked before its elements, and they're checked up to the first wrong one: otherwise a body of a
 * megabyte costs a second of CPU and an issue for each element.
 */
export function listOf<T extends z.ZodType>(
  element: T,
  { min, max, rule }: { min: number; max: number; rule: string },
) {
  const firstWrong = (value: unknown, context: z.RefinementCtx) => {
    if (!Array.isArray(value)) return value;
    if (value.length > max) return refuse(context, rule, []);
    for (const [index, each] of value.entries()) {
      const issue = element.safeParse(each).error?.issues[0];
      if (issue) return refuse(context, issue.message, [index, ...issue.path]);
    }
    return value;
  };
  return z.preprocess(firstWrong, z.array(element).min(min, rule).max(max, rule));
}

/**
 * An object of a request in which null and an empty text are the same as nothing, in each field that can be absent: some
 * clients write what they have no value for.
 */
export function lenientObject<S extends Readonly<Record<string, z.ZodType>>>(shape: S) {
  const optional = new Set(Object.keys(shape).filter((name) => shape[name]?.isOptional()));
  const withoutEmpty = (value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const fieldOf = (name: string): unknown => {
      const field: unknown = Reflect.get(value, name);
      return optional.has(name) && (field === null || field === '') ? undefined : field;
    };
    return Object.fromEntries(Object.keys(shape).map((name) => [name, fieldOf(name)]));
  };
  return z.preprocess(withoutEmpty, z.object(shape));
}

export function refuse(context: z.RefinementCtx, message: string, path: PropertyKey[]): never {
  context.addIssue({ code: 'custom', message, path });
  return z.NEVER;
}
