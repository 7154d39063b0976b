/** Bytes of a bundle that come from one package. This project's own are named `lambda`. */
export interface PackageBytes {
  readonly name: string;
  readonly bytes: number;
}

interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
}

/**
 * The packages that the bytes of a minified bundle come from, largest first. They come from the bundle's source map,
 * which describes exactly what is deployed: each segment, up to the next one, belongs to its source.
 */
export function packageBytes(bundle: { code: string; map: string }): PackageBytes[] {
  const { sources, mappings } = JSON.parse(bundle.map) as SourceMap;
  const codeLines = bundle.code.split('\n');
  const bytes = new Map<string, number>();
  let source = 0;
  mappings.split(';').forEach((line, index) => {
    let column = 0;
    let from = 0;
    let name: string | undefined;
    const add = (until: number) => {
      const length = Buffer.byteLength((codeLines[index] ?? '').slice(from, until));
      if (name !== undefined && length > 0) bytes.set(name, (bytes.get(name) ?? 0) + length);
    };
    for (const segment of line === '' ? [] : line.split(',')) {
      const [columnDelta = 0, sourceDelta] = decodeVlq(segment);
      column += columnDelta;
      add(column);
      from = column;
      source += sourceDelta ?? 0;
      name = sourceDelta === undefined ? undefined : packageOf(sources[source] ?? '');
    }
    add(Number.POSITIVE_INFINITY);
  });
  return [...bytes].map(([name, count]) => ({ name, bytes: count })).sort((a, b) => b.bytes - a.bytes);
}

function packageOf(source: string): string {
  const path = source.split('node_modules/').at(-1) ?? source;
  if (path === source) return 'lambda';
  return path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/');
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The numbers of one segment. A base64 digit has five bits, and a sixth if more follow; the lowest bit is the sign. */
function decodeVlq(segment: string): number[] {
  const values: number[] = [];
  let value = 0;
  let shift = 0;
  for (const char of segment) {
    const digit = digits.indexOf(char);
    value |= (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    values.push(value & 1 ? -(value >>> 1) : value >>> 1);
    value = 0;
    shift = 0;
  }
  return values;
}
