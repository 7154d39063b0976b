/** A file, with all versions of it that are stored. */
export interface PathSum {
  readonly path: string;
  /** Bytes of all objects, those of HEAD, and how many there are. */
  readonly bytes: number;
  readonly currentBytes: number;
  readonly objectCount: number;
}

/** What lies below a path of a clone: a file, or a folder, whose path ends with a slash. That of the root is empty. */
export interface PathNode extends PathSum {
  /** The largest first. Empty for a file. */
  readonly children: readonly PathNode[];
}

interface OpenNode {
  readonly path: string;
  bytes: number;
  currentBytes: number;
  objectCount: number;
  readonly children: Map<string, OpenNode>;
}

const openNode = (path: string): OpenNode => ({
  path,
  bytes: 0,
  currentBytes: 0,
  objectCount: 0,
  children: new Map(),
});

/** Adds up files by folder. */
export function pathTree(files: Iterable<PathSum>): PathNode {
  const root = openNode('');
  for (const file of files) {
    const parts = file.path.split('/');
    let node = root;
    add(node, file);
    parts.forEach((part, index) => {
      const isFile = index === parts.length - 1;
      const name = isFile ? part : `${part}/`;
      const child = node.children.get(name) ?? openNode(node.path + name);
      node.children.set(name, child);
      add(child, file);
      node = child;
    });
  }
  return closed(root);
}

function add(node: OpenNode, { bytes, currentBytes, objectCount }: PathSum): void {
  node.bytes += bytes;
  node.currentBytes += currentBytes;
  node.objectCount += objectCount;
}

function closed({ children, ...node }: OpenNode): PathNode {
  const all = [...children.values()].map(closed);
  return { ...node, children: all.sort(largestFirst) };
}

const largestFirst = (a: PathNode, b: PathNode) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1);

/**
 * The paths that tell most: a folder with a large share is shown by what is in it, again and again, while there are not
 * more than `countMax`.
 *
 * @returns the largest first. Together they are all of the tree.
 */
export function tellingPaths(root: PathNode, { countMax }: { countMax: number }): PathNode[] {
  let shown: PathNode[] = [...root.children];
  const isWorthOpening = (node: PathNode) =>
    node.children.length === 1 ||
    (node.children.length > 1 &&
      node.bytes * openedShareMin >= root.bytes &&
      shown.length - 1 + node.children.length <= countMax);
  for (;;) {
    const next = shown.sort(largestFirst).find(isWorthOpening);
    if (!next) return shown;
    shown = [...shown.filter((node) => node !== next), ...next.children];
  }
}

/** A folder of less than a twentieth of all bytes is shown as one. */
const openedShareMin = 20;

/** The paths of a level: files above it, and folders at it. @param depth 1 or more. */
export function pathsAt(root: PathNode, depth: number): PathNode[] {
  const level = (node: PathNode, left: number): PathNode[] =>
    left === 0 || node.children.length === 0
      ? [node]
      : node.children.flatMap((child) => level(child, left - 1));
  return root.children.flatMap((child) => level(child, depth - 1)).sort(largestFirst);
}
