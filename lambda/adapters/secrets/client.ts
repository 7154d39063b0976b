import {
  GetSecretValueCommand,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager';
import { clientOptions } from '../aws-sdk/client-options.ts';
import { calling } from '../aws-sdk/service-error.ts';

const limits = { attemptsMax: 3, connectMs: 1000, answerMs: 3000 };

/** @param config goes before what the environment says. */
export function createSecretsClient(config: SecretsManagerClientConfig = {}): SecretsManagerClient {
  return new SecretsManagerClient({ ...clientOptions(limits), ...config });
}

/**
 * @param input.version the one before the current one. Omitted: the current one.
 * @returns the text of a secret, undefined if it has none, and when this version of it was made.
 * @throws {AwsServiceError} if it could not be read.
 */
export async function readSecret(
  client: SecretsManagerClient,
  { secretArn: SecretId, version: VersionStage }: { secretArn: string; version?: 'AWSPREVIOUS' },
): Promise<{ text: string | undefined; createdAtMs: number | undefined }> {
  const command = new GetSecretValueCommand({ SecretId, ...(VersionStage && { VersionStage }) });
  const asked = { title: 'Secrets Manager', operation: 'GetSecretValue' };
  const { SecretString, CreatedDate } = await calling(asked, () => client.send(command));
  return { text: SecretString || undefined, createdAtMs: CreatedDate?.getTime() };
}
