import { parseSync } from 'oxc-parser';
import { sources } from './import-graph.ts';

/** What tests read from the code itself, so that a new case without a test of it fails. */

type Node = { readonly type: string } & Readonly<Record<string, unknown>>;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

/** Calls `visit` with all nodes of a tree, those around a node first. */
function walk(value: unknown, visit: (node: Node, name: string | undefined) => void, name?: string): void {
  if (Array.isArray(value)) for (const each of value) walk(each, visit, name);
  if (!isNode(value)) return;
  const own = nameOf(value) ?? name;
  visit(value, own);
  for (const child of Object.values(value)) walk(child, visit, own);
}

/** The name of a function that a node declares: a declaration, a constant or a method. */
function nameOf(node: Node): string | undefined {
  const { type } = node;
  if (type === 'FunctionDeclaration') return identifier(node['id']);
  if (type === 'VariableDeclarator') return isFunction(node['init']) ? identifier(node['id']) : undefined;
  if (type === 'Property') return isFunction(node['value']) ? identifier(node['key']) : undefined;
  return undefined;
}

const isFunction = (value: unknown) =>
  isNode(value) && /^(ArrowFunctionExpression|FunctionExpression)$/.test(value.type);

function identifier(value: unknown): string | undefined {
  return isNode(value) && value.type === 'Identifier' ? String(value['name']) : undefined;
}

function treeOf(file: string): unknown {
  return parseSync(file, sources.get(file) ?? '').program.body;
}

/**
 * The functions below a folder that call another one, themselves or by a helper of the same file that isn't exported:
 * `file function`.
 */
export function callersOf(callee: string, { below }: { below: string }): string[] {
  return [...sources.keys()]
    .filter((file) => file.startsWith(`${below}/`) && sources.get(file)?.includes(`${callee}(`))
    .flatMap((file) => {
      const calls: { from: string; to: string }[] = [];
      walk(treeOf(file), (node, from = '(no function)') => {
        const to = node.type === 'CallExpression' && identifier(node['callee']);
        if (to && from !== to) calls.push({ from, to });
      });
      const callersIn = (name: string) => calls.filter(({ to }) => to === name).map(({ from }) => from);
      const seen = new Set([callee]);
      for (const name of seen) for (const caller of callersIn(name)) seen.add(caller);
      const outermost = [...seen].filter((name) => name !== callee && callersIn(name).length === 0);
      return outermost.map((name) => `${file} ${name}`);
    })
    .sort();
}

/** The names in the first object literal, or interface, that a declaration has. */
export function fieldsOf(file: string, declared: string): string[] {
  const names: string[] = [];
  walk(treeOf(file), (node) => {
    const isWanted = /^(VariableDeclarator|TSInterfaceDeclaration)$/.test(node.type);
    if (!isWanted || identifier(node['id']) !== declared) return;
    let isFound = false;
    walk([node['init'], node['body']], (inner) => {
      const members = { ObjectExpression: inner['properties'], TSInterfaceBody: inner['body'] }[inner.type];
      if (isFound || !Array.isArray(members)) return;
      isFound = true;
      for (const { key } of members as { key: unknown }[]) names.push(identifier(key) ?? '');
    });
  });
  return names.filter((name) => name !== '');
}
