export type Read = (given: never) => unknown;

/** What a subject needs of this server. */
export interface SubjectPorts {
  readonly create: (given: never) => object;
  /** What it reads of the program's options: by name. It's given to `create`. */
  readonly options?: Readonly<Record<string, Read>>;
}
