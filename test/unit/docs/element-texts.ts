import { parseSync } from 'oxc-parser';
import { lineOf, type Node } from './words-texts.ts';

/** What an element of the console says, or an attribute of one. */
export interface ElementText {
  readonly line: number;
  /** Of the element or attribute. A heading of a row, which is data, is `row`. */
  readonly name: string;
  readonly text: string;
}

/** All elements and attributes of a source file with their text. `{}` stands for a value that's filled in. */
export function elementTexts(file: string, code: string): ElementText[] {
  const texts: ElementText[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each);
    if (typeof value !== 'object' || value === null || !('type' in value)) return;
    const node = value as Node;
    const name = nameOf(node);
    if (name !== undefined) {
      const text = textOf(node).replaceAll(/\s+/g, ' ').trim();
      texts.push({ line: lineOf(code, node.start), name, text });
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseSync(file, code).program.body);
  return texts;
}

function nameOf(node: Node): string | undefined {
  if (node.type === 'JSXAttribute') return (node['name'] as { name?: string }).name;
  if (node.type !== 'JSXElement') return undefined;
  const { name, attributes } = node['openingElement'] as { name: { name?: string }; attributes: Node[] };
  const isOfRow = attributes.some((each) => nameOf(each) === 'scope' && textOf(each) === 'row');
  return isOfRow ? 'row' : name.name;
}

/** Of two alternatives the longer one. */
function textOf(node: Node): string {
  const children = (key: string) => (node[key] as readonly Node[]).map(textOf);
  switch (node.type) {
    case 'JSXElement':
    case 'JSXFragment':
      return children('children').join('');
    case 'JSXAttribute':
      return node['value'] ? textOf(node['value'] as Node) : '';
    case 'JSXExpressionContainer':
      return textOf(node['expression'] as Node);
    case 'JSXText':
    case 'Literal':
      return typeof node['value'] === 'string' ? node['value'] : '{}';
    case 'TemplateLiteral':
      return (node['quasis'] as readonly { value: { cooked: string } }[])
        .map(({ value }) => value.cooked)
        .join('{}');
    case 'ConditionalExpression': {
      const [one, other] = [textOf(node['consequent'] as Node), textOf(node['alternate'] as Node)];
      return one.length > other.length ? one : other;
    }
    case 'LogicalExpression':
      return textOf(node['right'] as Node);
    case 'JSXEmptyExpression':
      return '';
    default:
      return '{}';
  }
}
