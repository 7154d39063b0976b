import { parseSync } from 'oxc-parser';

/** A piece of text that a person reads. */
export interface Text {
  readonly line: number;
  readonly text: string;
}

/** A node of the syntax tree, as far as it's read here. */
export type Node = { readonly type: string; readonly start: number } & Readonly<Record<string, unknown>>;

/** The line of a place in a file. The first one is 1. */
export const lineOf = (code: string, start: number) => code.slice(0, start).split('\n').length;

/** Attributes of elements that no one sees. */
const unseen = /^(class|id|for|href|d|type|role|style)$/;

/** At least two words, and no expression of the table. */
const isText = (text: string) => /[a-z]{2,} [a-z{]/i.test(text) && !/\s=\s|^SET |attribute_/.test(text);

/** The string literals, templates and JSX texts of a source file. `{}` stands for a value that's filled in. */
export function sourceTexts(file: string, code: string): Text[] {
  const texts: Text[] = [];
  const add = (start: number, value: string) => {
    const text = value.replace(/\s+/g, ' ').trim();
    if (isText(text)) texts.push({ line: lineOf(code, start), text });
  };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each);
    if (!isNode(value) || isSkipped(value)) return;
    const whole = flat(value);
    if (whole !== undefined) add(value.start, whole);
    // What a template or a sum is made of is said already, but not what its expressions hold.
    const inner = value.type === 'TemplateLiteral' ? value['expressions'] : undefined;
    if (whole === undefined) for (const child of Object.values(value)) visit(child);
    else visit(inner);
  };
  visit(parseSync(file, code).program.body);
  return texts;
}

/** The comments of a source file, each as one text. */
export function commentTexts(file: string, code: string): Text[] {
  return parseSync(file, code).comments.map(({ start, value }) => ({
    line: lineOf(code, start),
    text: value
      .replace(/^\s*\*/gm, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  }));
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function isSkipped(node: Node): boolean {
  if (/^(Import|TS(?!As|Satisfies|NonNull))/.test(node.type)) return true;
  const { name } = node as { name?: { name?: unknown } };
  return node.type === 'JSXAttribute' && unseen.test(String(name?.name));
}

/** The text of a literal, a template or a sum that has one. undefined: it's something else. */
function flat(node: Node): string | undefined {
  if (node.type === 'JSXText' || node.type === 'Literal')
    return typeof node['value'] === 'string' ? node['value'] : undefined;
  if (node.type === 'TemplateLiteral') {
    const quasis = node['quasis'] as readonly { value: { cooked: string }; tail: boolean }[];
    return quasis.map(({ value, tail }) => value.cooked + (tail ? '' : '{}')).join('');
  }
  if (node.type !== 'BinaryExpression' || node['operator'] !== '+') return undefined;
  const [left, right] = [flat(node['left'] as Node), flat(node['right'] as Node)];
  return left === undefined && right === undefined ? undefined : (left ?? '{}') + (right ?? '{}');
}

/** The lines of a page, without its code: `x` stands for a code span. */
export function pageTexts(markdown: string): Text[] {
  let isCode = false;
  return markdown.split('\n').flatMap((line, index) => {
    if (/^\s*(`{3}|~~~)/.test(line)) {
      isCode = !isCode;
      return [];
    }
    if (isCode) return [];
    return { line: index + 1, text: line.replace(/\]\([^)]*\)/g, ']').replace(/`[^`]*`/g, '`x`') };
  });
}
