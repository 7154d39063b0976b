type Fields = Readonly<Record<string, unknown>>;

/**
 * Word of the code → name of the attribute, where items of earlier versions have another one. Expressions that are written
 * out name attributes as they are stored. No item has an attribute with a name of the left side.
 */
const storedNames: Readonly<Record<string, string>> = {
  confirmedBaseBytes: 'floorBaseBytes',
  confirmedUntilMs: 'floorUntilMs',
  deliveredSeq: 'handedSeq',
  entries: 'claims',
  entriesCounted: 'claimsCounted',
  entryCount: 'claimCount',
  fullScannedAtMs: 'fullCountedAtMs',
  hostUserId: 'personId',
  intents: 'notes',
  isInitialScan: 'isFirstCount',
  lapsedAtMs: 'deadAtMs',
  large: 'giant',
  linkedId: 'hostedId',
  previousThreshold: 'previousLevel',
  reachableCount: 'keepCount',
  reachableSha256: 'keepSha256',
  rescanFromMs: 'recountFromMs',
  scanCancelledAtMs: 'countCancelledAtMs',
  scannedAtMs: 'countedAtMs',
  scanPausedAtMs: 'countPausedAtMs',
  threshold: 'level',
  unconfirmed: 'late',
};

const inverse = (words: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(words).map(([code, stored]) => [stored, code]));

interface Words {
  readonly names: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Attribute → word of the code → the value that is stored. */
const storedValues: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  action: {
    'gc.cancel': 'cleanup.cancel',
    'gc.open': 'cleanup.open',
    'gc.reachable-set': 'cleanup.keep-set',
    'gc.run': 'cleanup.run',
    'reconcile.request': 'recount.request',
    'scan.change': 'count.steer',
  },
  kind: { limit_reached: 'full', reconcile: 'recount', threshold: 'level' },
  outcome: { denied: 'refused', started: 'begun', succeeded: 'done' },
  reason: { 'no-reachable-set': 'no-keep-set' },
  state: { deleted: 'gone', scheduled: 'marked' },
};

/** Attributes whose own fields are renamed as well, by both names. The keys of other maps are ids and names that users chose. */
const isNested = (name: string) =>
  /^(failure|failures|giant|large|run|pending|publicRead|mapped|limit .*)$/.test(name);

const toStored: Words = { names: storedNames, values: storedValues };
const toCode: Words = {
  names: inverse(storedNames),
  values: Object.fromEntries(Object.entries(storedValues).map(([name, words]) => [name, inverse(words)])),
};

/** Attributes as the table has them. */
export function stored(fields: Fields): Record<string, unknown> {
  return renamed(fields, toStored);
}

/** Frozen items of the table in this process → as the code has them, so that parsers know one that they have parsed. */
const known = new WeakMap<object, Record<string, unknown>>();

/** An item of the table as the code has it. */
export function fromStored(item: Fields): Record<string, unknown> {
  const before = known.get(item);
  if (before) return before;
  const named = renamed(item, toCode);
  if (Object.isFrozen(item)) known.set(item, Object.freeze(named));
  return named;
}

function renamed(fields: Fields, words: Words): Record<string, unknown> {
  const named: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields))
    named[words.names[name] ?? name] = isNested(name)
      ? renamedWithin(value, words)
      : typeof value === 'string'
        ? (words.values[name]?.[value] ?? value)
        : value;
  return named;
}

/** Of an attribute that is an object or a list of them. */
function renamedWithin(value: unknown, words: Words): unknown {
  if (Array.isArray(value)) return value.map((each) => renamedWithin(each, words));
  return typeof value === 'object' && value !== null ? renamed(value as Fields, words) : value;
}
