/** What of {@link stageJson} each subject has, by the name of its setting. */

export { issuersToJson as identityIssuers } from '../../lambda/subjects/ci/rules/identities.ts';
export { gitHostsToJson as gitHosts } from '../../lambda/subjects/hosts/rules/git-hosts.ts';
