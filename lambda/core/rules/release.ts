export interface Release {
  readonly version: string;
  /** Its first 12 digits, and `-dirty` if the checkout had changes. null: unknown. */
  readonly commit: string | null;
}

/** The bundler puts it in place of this name (lib/release.ts). In a checkout that runs its source, `bin/` sets it. */
declare const builtFrom: Release | undefined;

/** The release that this code is. */
export const release: Release =
  typeof builtFrom === 'undefined' ? { version: 'dev', commit: null } : builtFrom;

/** For people: `0.1.0 (d6605e7b1d1c)`. */
export const releaseText = ({ version, commit }: Release) =>
  commit === null ? version : `${version} (${commit})`;
