import { adoptedReposToJson } from '../../lambda/domain/adopted-json.ts';
import { gitHostsToJson } from '../../lambda/domain/git-hosts-json.ts';
import { issuersToJson } from '../../lambda/domain/issuers-json.ts';
import { settingsToJson } from '../../lambda/domain/settings-json.ts';
import { settingsOf } from '../settings/protocol-settings.ts';
import type { StageSettings } from '../settings/stage-settings.ts';

/**
 * The settings of a stage that become part of its code: name → expression, for the bundler. `lambda/compose.ts` reads
 * them. A bundle has those that its function uses, and a change of one is a change of the code: Lambda never runs a
 * function with the code of one deployment and the settings of another.
 */
export function stageJson(settings: StageSettings): Record<string, string> {
  const json: Readonly<Record<string, string | undefined>> = {
    protocol: settingsToJson(settingsOf(settings.protocol)),
    adoptedRepos: adoptedReposToJson(settings.adoptedRepos),
    identityIssuers: issuersToJson(settings.identityIssuers),
    gitHosts: gitHostsToJson(settings.gitHosts),
  };
  return Object.fromEntries(
    Object.entries(json).map(([name, text]) => [
      `stageJson.${name}`,
      text === undefined ? 'undefined' : JSON.stringify(text),
    ]),
  );
}
