import type { Answer, Api } from './api.ts';
import type { LfsObject, Place } from './lfs.ts';

/** What a client can see of one subject. */
export interface Subject {
  /** By method and path: who may call each of its routes. */
  readonly callers: Readonly<Record<string, Caller>>;
  /** Of its routes, those of lists with pages: what follows the tenant's path. */
  readonly lists?: readonly string[];
  /** Leaves something in a repo that a token for other repos must not see. */
  readonly leaves?: (api: Api, place: Place) => Promise<unknown>;
  /** What a tenant has a few of, which its repos share. */
  readonly places?: {
    /** Takes all of them, for one of these repos or the whole tenant. @returns ids of what has them. */
    readonly fill: (api: Api, of: { tenant: string; repos: readonly string[] }) => Promise<readonly string[]>;
    /** Asks for one more, and is refused. */
    readonly ask: (
      api: Api,
      place: Pick<Place, 'tenant' | 'repo'>,
      who: Record<string, string>,
    ) => Promise<Answer>;
  };
  /** Of a repo that another server has laid out, and to which `objects` belong. */
  readonly ofAdopted?: {
    readonly title: string;
    readonly test: (api: Api, repo: AdoptedPlace) => Promise<void>;
  };
  readonly tests: (api: () => Api) => void;
}

interface AdoptedPlace {
  readonly tenant: string;
  readonly repo: string;
  readonly objects: readonly LfsObject[];
}

/**
 * Who may call each route. `all`: without credentials. `git`, `locks`: any token of the tenant. `verify`: the token of a
 * verify action. `chunks`: that of an action for a chunked upload. `identity`: who has an identity token. `holder`: any valid token. `anybody`: the same, or a session.
 * `session`: a session alone. `reader`: any token of the tenant, and the operator. `writer`: one that can push to the
 * repo, and the operator. `collector`: one with the scope
 * gc or manage, and the operator. `manager`: one with the scope manage, and the operator.
 */
export type Caller =
  | 'all'
  | 'git'
  | 'locks'
  | 'verify'
  | 'chunks'
  | 'identity'
  | 'holder'
  | 'anybody'
  | 'session'
  | 'reader'
  | 'writer'
  | 'collector'
  | 'manager'
  | 'operator';
