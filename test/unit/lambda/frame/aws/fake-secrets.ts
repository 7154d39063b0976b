import { GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { createSecretsClient } from '../../../../../lambda/frame/aws/secrets.ts';
import { FakeService } from './fake-service.ts';

/** The answer when there is no such secret. */
export const notFound = { status: 400, body: { name: 'ResourceNotFoundException', message: 'later' } };

/** A client of a Secrets Manager in memory, whose one secret has this text. */
export function fakeSecrets(text?: string) {
  const client = createSecretsClient({ region: 'eu-central-1' });
  const secrets = new FakeService(client, { GetSecretValue: GetSecretValueCommand }, () => ({ body: {} }));
  const set = (SecretString: string | undefined) => {
    secrets.answer = () => ({ body: { Name: 'secret', SecretString } });
  };
  set(text);
  return { secrets, set, client };
}
