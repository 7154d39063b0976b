import type { Ledger } from '../../../lambda/core/ledger/ledger.ts';
import { defaultSettings, type Settings } from '../../../lambda/core/rules/settings.ts';
import type { ObjectListing } from '../../../lambda/core/store/rules/store.ts';
import type { Deps } from '../../../local/deps.ts';
import { storesOn } from '../../../local/stores.ts';
import { Random } from '../random.ts';
import { runToEnd, Scheduler } from '../scheduler.ts';
import type { TestedSubject } from '../subject.ts';
import * as subjects from '../subjects.ts';
import { memoryDeps } from './deps.ts';
import { MemoryLedger } from './ledger.ts';
import { MemoryObjectStore } from './object-store.ts';
import { MemoryTokenStore } from './stores.ts';
import { memoryTable } from './table.ts';

/** SQS takes at most so many messages in one request. */
const messagesPerSend = 10;
const pagedReads = new Set(['reservations', 'reservationsOf', 'repos', 'deletions', 'deletionsOf', 'seen']);

/** One call of a port. Its name is a method of the ledger or of the token store, or HEAD, DELETE, LIST, SEND. */
interface CountedCall {
  readonly name: string;
  readonly beganMs: number;
}

/** How long one call takes. The elapsed time then says how many calls were made one after the other. */
interface CallTimes {
  /** The table, and the queue. */
  readonly tableMs: number;
  /** HEAD and DELETE. */
  readonly headMs: number;
  readonly listMs: number;
}

/** Counts the calls of every port. It has its own clock, on which only the calls take time. */
export class ScanningDeps {
  readonly ledger = new MemoryLedger();
  readonly store = new MemoryObjectStore();
  readonly tokens = new MemoryTokenStore();
  /** Since the last measurement began. */
  readonly calls: CountedCall[] = [];
  readonly deps: Deps;
  readonly #scheduler = new Scheduler(new Random(1));

  constructor(times: CallTimes, settings: Partial<Settings> = {}) {
    const { ledger, store, tokens } = this;
    const onTable = <T>(name: string, run: () => Promise<T>) => this.#call(name, times.tableMs, run);
    const listing: ObjectListing = {
      listPage: (request) => this.#call('LIST', times.listMs, () => store.listPage(request)),
      listFolders: (request) => this.#call('LIST', times.listMs, () => store.listFolders(request)),
    };
    const send = () => onTable('SEND', async () => undefined);
    this.deps = memoryDeps({
      ledger: scanned(ledger, onTable),
      tokens: {
        find: (tokenId) => onTable('findToken', () => tokens.find(tokenId)),
        put: (record) => onTable('putToken', () => tokens.put(record)),
        putUser: (record) => onTable('putUser', () => tokens.putUser(record)),
        noteUse: (use) => onTable('noteTokenUse', () => tokens.noteUse(use)),
        delete: (token) => onTable('deleteToken', () => tokens.delete(token)),
        list: (tenant) => onTable('listTokens', () => tokens.list(tenant)),
        listUsers: (tenant) => onTable('listUsers', () => tokens.listUsers(tenant)),
        listPage: (input) => onTable('listTokens', () => tokens.listPage(input)),
        putSession: (record) => onTable('putSession', () => tokens.putSession(record)),
        noteOrganizations: (record) => onTable('noteOrganizations', () => tokens.noteOrganizations(record)),
        findSession: (key) => onTable('findSession', () => tokens.findSession(key)),
        deleteSession: (key) => onTable('deleteSession', () => tokens.deleteSession(key)),
      },
      ...storesOfSubjects(onTable),
      store: {
        head: (key) => this.#call('HEAD', times.headMs, () => store.head(key)),
        delete: (key) => this.#call('DELETE', times.headMs, () => store.delete(key)),
        putEmpty: (key, options) => this.#call('PUT', times.headMs, () => store.putEmpty(key, options)),
      },
      listing,
      queue: {
        request: send,
        requestAll: async (requests) => {
          for (let sent = 0; sent < requests.length; sent += messagesPerSend) await send();
        },
      },
      clock: { nowMs: () => this.#scheduler.nowMs, sleep: (durationMs) => this.#travel(durationMs) },
      settings: { ...defaultSettings, ...settings },
    });
  }

  /** Lets time pass. */
  advance(durationMs: number): Promise<void> {
    return runToEnd(this.#scheduler, () => this.#travel(durationMs));
  }

  /** Runs a task. The result comes with the time that it took, and its calls are in {@link calls}. */
  async measure<T>(task: () => Promise<T>): Promise<{ result: T; elapsedMs: number }> {
    this.calls.length = 0;
    const beganMs = this.#scheduler.nowMs;
    const result = await runToEnd(this.#scheduler, task);
    return { result, elapsedMs: this.#scheduler.nowMs - beganMs };
  }

  async #call<T>(name: string, durationMs: number, run: () => Promise<T>): Promise<T> {
    this.calls.push({ name, beganMs: this.#scheduler.nowMs });
    await this.#travel(durationMs);
    return run();
  }

  #travel(durationMs: number): Promise<void> {
    return new Promise((resolve) => this.#scheduler.after(durationMs, resolve));
  }
}

/** Those whose calls are counted. */
function storesOfSubjects(
  call: (name: string, run: () => Promise<unknown>) => Promise<unknown>,
): Partial<Deps> {
  const stores: Readonly<Record<string, object>> = storesOn(memoryTable());
  const all: Readonly<Record<string, Readonly<Record<string, string>>>> = Object.assign(
    {},
    ...Object.values<TestedSubject>(subjects).map(({ counted }) => counted),
  );
  const counted = (store: object, names: Readonly<Record<string, string>>) =>
    Object.entries(names).map(([method, name]) => {
      const run: unknown = Reflect.get(store, method);
      if (typeof run !== 'function') throw new Error(`No store has a method ${method}.`);
      return [method, (...args: unknown[]) => call(name, () => run.apply(store, args) as Promise<unknown>)];
    });
  return Object.fromEntries(
    Object.entries(all).map(([name, names]) => [
      name,
      Object.fromEntries(counted(stores[name] ?? {}, names)),
    ]),
  );
}

/** A ledger whose every method is one call, and every page of a paged read is one call. */
function scanned(
  ledger: MemoryLedger,
  call: (name: string, run: () => Promise<unknown>) => Promise<unknown>,
): Ledger {
  return new Proxy<Ledger>(ledger, {
    get(target, property) {
      const name = String(property);
      const method = Reflect.get(target, property) as (...args: unknown[]) => unknown;
      if (!pagedReads.has(name))
        return (...args: unknown[]) => call(name, () => method.apply(target, args) as Promise<unknown>);
      return async function* (...args: unknown[]) {
        for await (const page of method.apply(target, args) as AsyncIterable<unknown>) {
          await call(name, async () => undefined);
          yield page;
        }
      };
    },
  });
}
