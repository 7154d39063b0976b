/**
 * Names of tenants and repos, and the keys of objects.
 *
 * An object's key is `{tenant}/{repo}/{oid}`. Each part is validated before a key is built from it, so no key can leave
 * its tenant's prefix.
 */

/** 1 to 40 of `[a-z0-9-]`, alphanumeric at both ends. Not the first segment of a route of the service. */
export const tenantPattern = /^(?!(?:v1|health|assets|sign-in)$)[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
/** 1 to 100 of `[A-Za-z0-9._-]`, alphanumeric first, no `.` and no `.git` last. */
export const repoPattern = /^(?!.*\.[gG][iI][tT]$)[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?$/;
export const oidPattern = /^[0-9a-f]{64}$/;

/** The tenant that a first start of `serve` creates. The one that can have sample data. */
export const demoTenant = 'demo';

/** The rule for a tenant's name, for error messages. */
export const tenantNameRule =
  '1 to 40 of a-z, 0-9 and -, beginning and ending with a letter or digit; not v1, health, assets or sign-in';

/** True for a tenant name: 1 to 40 of `[a-z0-9-]`, alphanumeric at both ends, not a route of the service. */
export function isTenantName(name: string): boolean {
  return tenantPattern.test(name);
}

/** True for a repo name: 1 to 100 of `[A-Za-z0-9._-]`, alphanumeric first, no `.` and no `.git` last. */
export function isRepoName(name: string): boolean {
  return repoPattern.test(name);
}

/**
 * The repo that a URL or a person names, with `.git` at its end or without. Two spellings never name two repos that can be
 * taken for each other: what still ends in `.git` is no name.
 */
export function repoNamed(text: string): string | undefined {
  const name = text.replace(/\.git$/, '');
  return isRepoName(name) ? name : undefined;
}

/** True for an LFS object id: the SHA-256 of the object's bytes as 64 lower-case hex digits. */
export function isOid(text: string): boolean {
  return oidPattern.test(text);
}

/** The prefix of all keys of a tenant, with its closing slash. */
export function tenantPrefix(tenant: string): string {
  return `${tenant}/`;
}

/**
 * The prefix of all keys of a repo, with its closing slash. Without the slash, `app` would also list `app2`. For the
 * repo with the empty name it is the folder without a name.
 */
export function repoPrefix(path: { tenant: string; repo: string }): string {
  return `${path.tenant}/${path.repo}/`;
}

/**
 * The prefix that names in a deletion are relative to. The repo with the empty name has keys beside the tenant's
 * folders and in the folder without a name, so its names are relative to the tenant.
 */
export function deletionPrefix(path: { tenant: string; repo: string }): string {
  return path.repo === '' ? tenantPrefix(path.tenant) : repoPrefix(path);
}

/** The key of one object. */
export function objectKey(path: { tenant: string; repo: string; oid: string }): string {
  return `${path.tenant}/${path.repo}/${path.oid}`;
}

/**
 * Compares two object keys as S3 orders them: by their UTF-8 bytes.
 *
 * JavaScript's `<` compares UTF-16 units. It puts characters beyond U+FFFF (surrogates, 0xD800 to 0xDFFF) before those
 * from U+E000 to U+FFFF, but UTF-8 puts them after.
 *
 * @returns below 0, 0 or above 0, as for `Array.sort`.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const unitA = a.charCodeAt(index);
    const unitB = b.charCodeAt(index);
    if (unitA !== unitB) return utf8Rank(unitA) - utf8Rank(unitB);
  }
  return a.length - b.length;
}

/** Moves surrogates behind all other units, and keeps every other order. */
function utf8Rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x2800 : unit;
}
