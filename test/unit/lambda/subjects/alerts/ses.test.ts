import { SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, it } from 'vitest';
import { createSesMailer } from '../../../../../lambda/subjects/alerts/ses.ts';

describe('SES', () => {
  const ses = mockClient(SESv2Client);
  afterEach(() => ses.reset());
  const mailer = () =>
    createSesMailer(
      { from: 'quota@example.com', configurationSet: 'lfs-quota-prod' },
      { region: 'eu-west-1' },
    );
  const email = { tenant: 'acme', to: 'ada@example.com', subject: 'acme uses 90%', text: 'Zwölf\n' };

  it('gets an e-mail that ends by one POST, tagged with its tenant', async () => {
    ses.on(SendEmailCommand).resolves({ MessageId: '1' });
    await mailer().send({ ...email, unsubscribeUrl: 'https://lfs.example.com/v1/emails/unsubscribe?key=a' });
    expect(ses.commandCalls(SendEmailCommand)[0]?.args[0].input).toEqual({
      FromEmailAddress: 'quota@example.com',
      Destination: { ToAddresses: ['ada@example.com'] },
      ConfigurationSetName: 'lfs-quota-prod',
      EmailTags: [{ Name: 'tenant', Value: 'acme' }],
      Content: {
        Simple: {
          Subject: { Data: 'acme uses 90%', Charset: 'UTF-8' },
          Body: { Text: { Data: 'Zwölf\n', Charset: 'UTF-8' } },
          Headers: [
            { Name: 'List-Unsubscribe', Value: '<https://lfs.example.com/v1/emails/unsubscribe?key=a>' },
            { Name: 'List-Unsubscribe-Post', Value: 'List-Unsubscribe=One-Click' },
          ],
        },
      },
    });
  });

  it('that does not take one fails the send', async () => {
    ses.on(SendEmailCommand).rejects(Object.assign(new Error('no'), { name: 'MessageRejected' }));
    await expect(mailer().send({ ...email, unsubscribeUrl: null })).rejects.toThrow('no');
  });
});
