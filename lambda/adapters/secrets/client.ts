import { awsDomain } from '../aws-http/domain.ts';
import type { Exchange } from '../aws-http/exchange.ts';
import { AwsJsonClient, type CallLimits } from '../aws-http/json-client.ts';
import type { AwsCredentials } from '../aws-http/sigv4.ts';

/** How to reach Secrets Manager. */
export interface SecretsPlace {
  readonly region: string;
  /** Base URL of what stands in for Secrets Manager. Omitted: the region's own. */
  readonly endpoint?: string | undefined;
  /** Called for each attempt. */
  readonly credentials: () => AwsCredentials;
}

/** @param exchange replaces the network. */
export function createSecretsClient(place: SecretsPlace, exchange?: Exchange): AwsJsonClient {
  const { region, credentials } = place;
  const endpoint = place.endpoint ?? `https://secretsmanager.${region}.${awsDomain(region)}`;
  const names = { title: 'Secrets Manager', signingName: 'secretsmanager', targetPrefix: 'secretsmanager' };
  return new AwsJsonClient({ ...names, jsonVersion: '1.1', region, endpoint, credentials }, exchange);
}

/**
 * @returns the text of a secret. Undefined if it has none.
 * @throws {AwsServiceError} if it could not be read.
 */
export async function readSecret(
  client: AwsJsonClient,
  input: { secretArn: string; limits: CallLimits },
): Promise<string | undefined> {
  const answer = await client.call('GetSecretValue', { SecretId: input.secretArn }, input.limits);
  const { SecretString: text } = answer;
  return typeof text === 'string' && text !== '' ? text : undefined;
}
