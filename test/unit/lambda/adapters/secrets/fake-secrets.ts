import { createSecretsClient } from '../../../../../lambda/adapters/secrets/client.ts';
import { credentials, FakeService } from '../aws-http/fake-service.ts';

/** The answer when there is no such secret. */
export const notFound = { status: 400, body: { __type: 'ResourceNotFoundException', message: 'later' } };

/** A client of a Secrets Manager in memory, whose one secret has this text. */
export function fakeSecrets(text?: string) {
  const secrets = new FakeService(() => ({ body: {} }));
  const set = (SecretString: string | undefined) => {
    secrets.answer = () => ({ body: { Name: 'secret', SecretString } });
  };
  set(text);
  return { secrets, set, client: createSecretsClient({ region: 'eu-central-1', credentials }, secrets) };
}
