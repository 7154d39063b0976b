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
 * @param input.version the one before the current one. Omitted: the current one.
 * @returns the text of a secret, undefined if it has none, and when this version of it was made.
 * @throws {AwsServiceError} if it could not be read.
 */
export async function readSecret(
  client: AwsJsonClient,
  input: { secretArn: string; version?: 'AWSPREVIOUS'; limits: CallLimits },
): Promise<{ text: string | undefined; createdAtMs: number | undefined }> {
  const { secretArn: SecretId, version: VersionStage, limits } = input;
  const answer = await client.call(
    'GetSecretValue',
    { SecretId, ...(VersionStage && { VersionStage }) },
    limits,
  );
  const { SecretString: text, CreatedDate: createdAtSeconds } = answer;
  return {
    text: typeof text === 'string' && text !== '' ? text : undefined,
    createdAtMs: typeof createdAtSeconds === 'number' ? createdAtSeconds * 1000 : undefined,
  };
}
