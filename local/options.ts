/** Whom this server trusts, as its options say it: by name. */

export { readIssuers as issuers } from './ci/identities.ts';
export { readGitHosts as gitHosts } from './hosts/hosts.ts';
