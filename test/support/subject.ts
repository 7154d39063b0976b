import type * as z from 'zod';
import type { Table } from '../../lambda/core/table/requests.ts';
import type { HttpHandler } from '../../lambda/frame/aws/function.ts';
import type { ProblemCode } from '../../lambda/frame/contract/problems.ts';
import type { Deps } from '../../local/deps.ts';
import type { FakeTable } from './fake-table.ts';

/** What a subject has for tests that know no subject. */
export interface TestedSubject {
  readonly fill?: Fill;
  /** What docs/limits.md says of it. */
  readonly limits?: Limits;
  readonly kept?: readonly KeptRow[];
  /** Below `lambda/subjects/`, if that isn't its name. */
  readonly folder?: string;
  /** Each text of it that git prints, with values as long as they get in practice. */
  readonly lfsMessages?: readonly string[];
  /** Its own functions. */
  readonly functions?: Readonly<Record<string, TestedFunction>>;
  /** What it adds to the variables of others' functions. */
  readonly variables?: Readonly<Record<string, readonly string[]>>;
  /** What it writes beside objects. */
  readonly beside?: {
    readonly folder: string;
    /** Function, action, and the keys that it can reach. */
    readonly reached: readonly (readonly [string, string, string])[];
    /** Keys that it makes, and what each must be like. */
    readonly keys: readonly (readonly [string, RegExp])[];
  };
  /** Maps of its items and messages: why none of their names is `__proto__`. */
  readonly maps?: Readonly<Record<string, string>>;
  /** Calls of the table that tests count: store → its method → the name of the call. */
  readonly counted?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** What a push asks it before its batch, by the line of the cost model. */
  readonly askedFirst?: Readonly<Record<string, AskedFirst>>;
  /** What is read of test/fixtures/272d26e, and what is so once everything of it rests. */
  readonly older?: {
    readonly read: (deps: Deps) => Promise<unknown>;
    /** Some hours later. @param get what the API answers the operator. */
    readonly done?: (deps: Deps, at: { readonly get: Get; readonly storeUrl: string }) => Promise<unknown>;
    readonly rest?: (deps: Deps) => Promise<unknown>;
  };
  readonly writer?: Writer;
  /** Puts what it keeps of a tenant in use, for the cost model. */
  readonly inUse?: (deps: Deps, of: { tenant: string; nowMs: number }) => Promise<unknown>;
  /** What the messages of its queues are read by, of which a test of it does the work. */
  readonly messages?: Readonly<Record<string, z.ZodType<object>>>;
  /** What pages have of it, as code. */
  readonly blocks?: TestedBlocks;
  /** Its settings of a stage: at their longest, as little as there can be, and of one that takes over a GitLab. */
  readonly settings?: { readonly most?: object; readonly least?: object; readonly ofGitLab?: object };
  /** By entrance: which repo it takes a text for. undefined: none. */
  readonly repoIn?: Readonly<Record<string, (text: string) => string | undefined>>;
  /** By setting: what becomes code. */
  readonly code?: Readonly<Record<string, InCode>>;
  /** Calls of its commands, by their first word, or by its name if others have that word, too. */
  readonly runs?: Readonly<Record<string, readonly CliRun[]>>;
  /** By their names in local/queues.ts. */
  readonly queues?: Readonly<Record<string, TestedQueue>>;
}

type Get = (routeKey: string, path: Readonly<Record<string, string>>) => Promise<unknown>;

type CliChange = object | { readonly problem: ProblemCode };

/** One call of a command, on an API that answers the examples of its own description. */
export interface CliRun {
  /** What follows `lfs-quota`. */
  readonly line: string;
  /**
   * Fields of its answers that are otherwise, request by request; the last for all that follow. With `problem` it
   * refuses.
   */
  readonly answers?: readonly CliChange[];
  /** What the person at the terminal answers. Without it there is no terminal. */
  readonly says?: readonly string[];
  readonly lang?: string;
}

interface TestedBlocks {
  /** Whether a value is one of its messages to others. @throws if it's a wrong one. */
  readonly json: (value: Readonly<Record<string, unknown>>) => boolean;
  /** Whether a program is one of its own. Checks what its functions do. */
  readonly js: (functions: object) => boolean;
}

interface InCode {
  readonly set: unknown;
  /** Reads what the functions have. */
  readonly read: (json: string | undefined) => unknown;
  readonly functions: readonly string[];
}

export interface TestedFunction {
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  /** Without `LFS_QUOTA_`. */
  readonly variables: readonly string[];
  /** Kinds of items, as docs/security.md names them. */
  readonly writes?: readonly string[];
  /** What its bundle answers, without credentials. */
  readonly answers?: { readonly method: string; readonly path: string; readonly statusCode: number };
}

export interface AskedFirst {
  readonly create: (deps: Deps) => HttpHandler;
  readonly routeKey: string;
}

interface TestedQueue {
  /** Its name in `Deps`. */
  readonly port: string;
  /** What reads its jobs, those of older versions too. */
  readonly schema: z.ZodType<object>;
  /** What the schedule does. */
  readonly wake: (deps: Deps) => Promise<unknown>;
  /** Does a job, if no client asked for it. */
  readonly work: (deps: Deps, job: never, deadlineMs: number) => Promise<unknown>;
}

/** Writes beside objects, below each of its subject's folders. */
interface Writer {
  readonly begin: (deps: Deps, path: RepoPath) => Promise<unknown>;
  /** An hour later. @param bytes of what it sends to the store. @param stored the oid of an object. */
  readonly write: (deps: Deps, path: RepoPath, bytes: Uint8Array, stored: string) => Promise<unknown>;
  /** What stays as long as its repo. */
  readonly stays?: (path: RepoPath) => string;
  readonly end?: (deps: Deps, path: RepoPath) => Promise<unknown>;
}

interface RepoPath {
  readonly tenant: string;
  readonly repo: string;
}

export const [tenant, repo] = ['zebra', 'stripes'];
export const path = { tenant, repo };
export const minute = 60_000;
/** Of an object that nobody has sent. */
export const unsent = 'c'.repeat(64);

/** How each store gets something of the tenant, and of the repo if it keeps something of repos. */
export type Fill = Readonly<Record<string, (deps: Deps, nowMs: number) => Promise<unknown>>>;

/** Title of a section → what → how much. */
export type Limits = Readonly<Record<string, Readonly<Record<string, number | string>>>>;

/** An item, and when the table may remove it. null: never. */
export interface Written {
  readonly pk: unknown;
  readonly sk: unknown;
  readonly end: unknown;
}

export interface KeptRow {
  readonly what: string;
  /** The functions that write it, each with an end. */
  readonly by: readonly string[];
  /** Lets each of them write. @returns what they must have written. */
  readonly write: (of: typeof kept & KeptOn) => Promise<readonly Written[]>;
}

interface KeptOn {
  readonly table: Table;
  readonly client: FakeTable;
}

export const kept = {
  tenant: 'acme',
  oid: 'f'.repeat(64),
  atMs: Date.parse('2026-11-22T10:00:00.001Z'),
  /** The table's times are whole seconds, never too early. */
  second: Date.parse('2026-11-22T10:00:01Z') / 1000,
  day: 24 * 60 * 60,
};
