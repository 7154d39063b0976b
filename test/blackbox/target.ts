import type { StandInHost } from '../support/git-host.ts';
import type { TestIssuer } from '../support/identity-issuer.ts';

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
  /** Objects from which on a repo is counted by shards. Omitted where that takes too many: what needs it is skipped then. */
  readonly giantObjects?: number;
  /** How long after the last verify usage may differ from what is stored; 30 s where it is omitted. */
  readonly countedWithinMs?: number;
  /** Signs identity tokens that the stack takes. Omitted where it takes nobody's that we can sign. */
  readonly issuer?: TestIssuer;
  /** The stack's only git host, called `forge`. Omitted where it has none that we can speak for. */
  readonly gitHost?: StandInHost;
  /** Certificate authority of the API and the store, where it is none that Node knows. */
  readonly ca?: Buffer;
}
