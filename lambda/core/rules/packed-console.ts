/** The files of the console, packed when they were built. */

/** What a client can take. Base64. A file that does not get smaller has no packed form. */
export interface PackedBodies {
  readonly identity: string;
  readonly gzip?: string;
  readonly br?: string;
}

export interface PackedFile {
  readonly type: string;
  /** Names the content. */
  readonly etag: string;
  readonly bodies: PackedBodies;
}

export interface PackedConsole {
  readonly page: PackedFile;
  /** By their names below `/assets/`, which have a hash of the content in them. */
  readonly assets: Readonly<Record<string, PackedFile>>;
}

export interface ConsoleFiles {
  read(): Promise<PackedConsole>;
}
