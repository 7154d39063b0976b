import { expect, it } from 'vitest';
import type { Exchange, SignedRequest } from '../../../../../lambda/adapters/aws-http/exchange.ts';
import { createSecretsClient, readSecret } from '../../../../../lambda/adapters/secrets/client.ts';
import { credentials } from '../aws-http/fake-service.ts';

it.each([
  ['eu-central-1', undefined, 'https://secretsmanager.eu-central-1.amazonaws.com'],
  ['cn-north-1', undefined, 'https://secretsmanager.cn-north-1.amazonaws.com.cn'],
  ['eu-central-1', 'http://127.0.0.1:4566', 'http://127.0.0.1:4566'],
])('a secret of %s is read at its region, or at the given endpoint %s', async (region, endpoint, origin) => {
  const sent: SignedRequest[] = [];
  const exchange: Exchange = {
    async send({ request, readerOf }) {
      sent.push(request);
      const reader = readerOf({ status: 200, headers: {} });
      reader.write(Buffer.from('{"SecretString":"token"}'));
      return reader.end();
    },
    destroy() {},
  };
  const client = createSecretsClient({ region, endpoint, credentials }, exchange);
  const limits = { attemptsMax: 1, connectMs: 1, answerMs: 1 };
  expect(await readSecret(client, { secretArn: 'arn', limits })).toMatchObject({ text: 'token' });
  expect(sent).toMatchObject([
    {
      origin,
      path: '/',
      body: '{"SecretId":"arn"}',
      headers: {
        host: new URL(origin).host,
        'x-amz-target': 'secretsmanager.GetSecretValue',
        'content-type': 'application/x-amz-json-1.1',
        authorization: expect.stringContaining(`/${region}/secretsmanager/aws4_request`),
      },
    },
  ]);
});
