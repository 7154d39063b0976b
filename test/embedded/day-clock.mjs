import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Loaded before a program, it stops its clock. The parent process lets it go on: a number that it sends is for so many
 * milliseconds that have passed. Timers of a second or more wait for that, shorter ones don't: they are not of the day, but
 * of a request. To `'measure'` it answers what the program has in use.
 */
const [RealDate, realTimeout, realClear] = [Date, setTimeout, clearTimeout];
const dayMs = 24 * 60 * 60_000;
let nowMs = RealDate.now();

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args) => Reflect.construct(target, args.length === 0 ? [nowMs] : args),
  get: (target, name) => (name === 'now' ? () => nowMs : Reflect.get(target, name)),
});

/** Timer → what it is for. */
const waiting = new Map();

function after(run, delayMs = 0, args = [], isRepeated = false) {
  const timer = realTimeout(() => undefined, 10 * dayMs);
  const bound = AsyncLocalStorage.bind(() => run(...args));
  waiting.set(timer, { atMs: nowMs + delayMs, everyMs: isRepeated ? delayMs : undefined, run: bound });
  return timer;
}

const realInterval = setInterval;
globalThis.setTimeout = (run, delayMs, ...args) =>
  delayMs >= 1000 ? after(run, delayMs, args) : realTimeout(run, delayMs, ...args);
globalThis.setInterval = (run, delayMs, ...args) =>
  delayMs >= 1000 ? after(run, delayMs, args, true) : realInterval(run, delayMs, ...args);
globalThis.clearTimeout = (timer) => {
  waiting.delete(timer);
  realClear(timer);
};
globalThis.clearInterval = globalThis.clearTimeout;

function advance(passedMs) {
  nowMs += passedMs;
  for (const [timer, each] of [...waiting]) {
    if (each.atMs > nowMs) continue;
    if (each.everyMs === undefined) globalThis.clearTimeout(timer);
    else each.atMs = nowMs + each.everyMs;
    setImmediate(each.run);
  }
}

async function measure() {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc();
    await nextTurn();
  }
  const { heapUsed, external } = process.memoryUsage();
  const status = readFileSync('/proc/self/status', 'utf8');
  const resident = (kind) => 1024 * Number(new RegExp(`^Rss${kind}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  // LevelDB maps the table's files, which the system drops when it needs their memory.
  const [memory, mapped] = [resident('Anon'), resident('File')];
  const handles = process
    .getActiveResourcesInfo()
    .filter((name) => !/^(Immediate|Timeout|FSReqCallback)$/.test(name));
  return { memory, mapped, heapUsed, external, handles: handles.length, timers: waiting.size };
}

process.on('message', async (message) => {
  if (message === 'measure') process.send(await measure());
  else advance(message);
});
process.on('disconnect', () => process.exit());
