import { deployedConsumer } from '../../frame/aws/sqs-consumer.ts';
import { common, redelivery, required, table } from '../../parts.ts';
import { create } from '../../subjects/alerts/email-handler.ts';
import { createDynamoDbEmails } from '../../subjects/alerts/email-store.ts';
import { createSesMailer } from '../../subjects/alerts/ses.ts';

export function emailDeps() {
  const configurationSet = required('LFS_QUOTA_EMAIL_CONFIGURATION_SET');
  return {
    ...common(),
    emails: createDynamoDbEmails(table()),
    mailer: createSesMailer({ from: required('LFS_QUOTA_EMAIL_FROM'), configurationSet }),
    publicUrl: required('LFS_QUOTA_PUBLIC_URL'),
    redelivery: redelivery('LFS_QUOTA_EMAIL_QUEUE_URL'),
  };
}

export const handler = await deployedConsumer(create, emailDeps);
