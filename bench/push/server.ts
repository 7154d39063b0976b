/** What a server gets for one round: an empty folder of its own, and a way to an empty store. */
export interface ServerPlace {
  /** URL of the store, through its door. */
  readonly storeUrl: string;
  /** What the store's certificate is checked with, if the URL is HTTPS. */
  readonly certificateFile: string;
  readonly folder: string;
}

/** An LFS server that runs in its own process. */
export interface RunningServer {
  readonly pid: number;
  readonly port: number;
  /** The token that a client needs; undefined where anybody may push. */
  readonly token: string | undefined;
  /** Sends to a queue since the last call. */
  takeQueueSends(): Promise<number>;
  /** Work that follows a push in the background, all of it. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

export interface ServerKind {
  readonly name: string;
  /** The path of a repo's LFS API. `lfs.url` gets it. */
  readonly lfsPath: (repo: string) => string;
  /** A server of others: no API that is paid by request. If it fails, the run goes on without it. */
  readonly isPeer: boolean;
  /** It reaches a store over HTTPS alone. */
  readonly needsHttps?: boolean;
  /** It tells a client what is stored already. For one that does not, a second push is the first once more. */
  readonly knowsStored: boolean;
  /** It has something to do after a push. */
  readonly settles: boolean;
  start(place: ServerPlace): Promise<RunningServer>;
}

/** For a server that has neither a queue nor work in the background. */
export const nothingLater = {
  takeQueueSends: async () => 0,
  settle: async () => undefined,
} as const;
