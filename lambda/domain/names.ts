/**
 * Names of tenants and repos, and where an object lies.
 *
 * An object's key is `{tenant}/{repo}/{oid}`; each part is validated before a key is built from it, so no
 * key can leave its tenant's prefix.
 */

/** 1 to 40 of `[a-z0-9-]`, alphanumeric at both ends. Not the first segment of a route of ours. */
export const tenantPattern = /^(?!(?:v1|health|assets)$)[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
/** 1 to 100 of `[A-Za-z0-9._-]`, alphanumeric first, no `.` last. */
export const repoPattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?$/;
export const oidPattern = /^[0-9a-f]{64}$/;

/** What a tenant's name must look like, in words for an error message. */
export const tenantNameRule =
  '1 to 40 of a-z, 0-9 and -, beginning and ending with a letter or digit; not v1, health or assets';

/** True for a tenant name: 1 to 40 of `[a-z0-9-]`, alphanumeric at both ends, and no route of ours. */
export function isTenantName(name: string): boolean {
  return tenantPattern.test(name);
}

/** True for a repo name: 1 to 100 of `[A-Za-z0-9._-]`, alphanumeric first, no `.` last. */
export function isRepoName(name: string): boolean {
  return repoPattern.test(name);
}

/** True for an LFS object id: the SHA-256 of its bytes as 64 lower-case hex digits. */
export function isOid(text: string): boolean {
  return oidPattern.test(text);
}

/** The prefix below which all of a tenant's objects lie, with its closing slash. */
export function tenantPrefix(tenant: string): string {
  return `${tenant}/`;
}

/**
 * The prefix below which all of a repo's objects lie, with its closing slash: without it `app` would
 * also list `app2`. The empty repo stands for keys that lie directly below the tenant.
 */
export function repoPrefix(path: { tenant: string; repo: string }): string {
  return `${path.tenant}/${path.repo}/`;
}

/**
 * What the names in a deletion are relative to. Those of the empty repo lie directly below the tenant, or
 * directly below a folder without a name there.
 */
export function deletionPrefix(path: { tenant: string; repo: string }): string {
  return path.repo === '' ? tenantPrefix(path.tenant) : repoPrefix(path);
}

/** The key of one object. */
export function objectKey(path: { tenant: string; repo: string; oid: string }): string {
  return `${path.tenant}/${path.repo}/${path.oid}`;
}
