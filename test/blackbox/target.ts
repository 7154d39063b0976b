import type { StandInHost } from '../support/git-host.ts';
import type { TestIssuer } from '../support/identity-issuer.ts';

/** A repo that the stack's setting has in the bucket where another server put it. */
export interface AdoptedRepo {
  readonly tenant: string;
  readonly repo: string;
  readonly path: string;
  readonly names: 'oid' | 'ab/cd/rest' | 'ab/cd/oid';
}

/** A stack that the black-box suite is run against, as its clients see it. */
export interface Target {
  /** Of the API, without a closing slash. */
  readonly url: string;
  readonly adminToken: string;
  /**
   * LIST requests below this tenant's path that the store has served so far. Omitted where nobody counts
   * them: what is said about them is skipped then.
   */
  readonly listRequests?: (tenant: string) => number;
  /** Puts an object into the store around the API. Omitted where nobody can: what needs it is skipped then. */
  readonly putObject?: (key: string, content: Buffer) => Promise<void>;
  /** The keys in the store that begin with this prefix. Omitted where nobody can list it. */
  readonly storedKeys?: (prefix: string) => Promise<readonly string[]>;
  /** What {@link adoptedReposOf} has, as a setting of the stack. Omitted where it has no adopted repos. */
  readonly adoptedRepos?: readonly AdoptedRepo[];
  /** Objects from which on a repo is counted by shards. Omitted where that takes too many: what needs it is skipped then. */
  readonly giantObjects?: number;
  /** How long after the last verify usage may differ from what is stored; 30 s where it is omitted. */
  readonly countedWithinMs?: number;
  /** Signs identity tokens that the stack takes. Omitted where it takes nobody's that we can sign. */
  readonly issuer?: TestIssuer;
  /** What the stack calls itself, where something before it has another address. */
  readonly ownUrl?: string;
  /** The stack's only git host, called `forge`. Omitted where it has none that we can speak for. */
  readonly gitHost?: StandInHost;
  /** For how long the stack keeps what a git host said. */
  readonly personKeptMs?: number;
  /** Certificate authority of the API and the store, where it is none that Node knows. */
  readonly ca?: Buffer;
}
