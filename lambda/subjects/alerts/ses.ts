import { SESv2Client, type SESv2ClientConfig, SendEmailCommand } from '@aws-sdk/client-sesv2';
import { calling, clientOptions } from '../../core/table/sdk.ts';
import type { Mailer } from '../../frame/net/ports.ts';

/** What fails is sent again by the queue. */
const limits = { attemptsMax: 2, connectMs: 1000, answerMs: 5000 };

/**
 * Sends by Amazon SES.
 *
 * @param input.from an address that SES has verified, or of a domain that it has.
 * @param input.configurationSet has bounces and complaints told. Each e-mail names its tenant for that.
 * @param config goes before what the environment says.
 */
export function createSesMailer(
  input: { from: string; configurationSet: string },
  config: SESv2ClientConfig = {},
): Mailer {
  const client = new SESv2Client({ ...clientOptions(limits), ...config });
  return {
    async send({ tenant, to, subject, text, unsubscribeUrl }) {
      const utf8 = (Data: string) => ({ Data, Charset: 'UTF-8' });
      const command = new SendEmailCommand({
        FromEmailAddress: input.from,
        Destination: { ToAddresses: [to] },
        ConfigurationSetName: input.configurationSet,
        EmailTags: [{ Name: 'tenant', Value: tenant }],
        Content: {
          Simple: {
            Subject: utf8(subject),
            Body: { Text: utf8(text) },
            ...(unsubscribeUrl !== null && {
              Headers: [
                { Name: 'List-Unsubscribe', Value: `<${unsubscribeUrl}>` },
                { Name: 'List-Unsubscribe-Post', Value: 'List-Unsubscribe=One-Click' },
              ],
            }),
          },
        },
      });
      await calling({ title: 'SES', operation: 'SendEmail' }, () => client.send(command));
    },
  };
}
