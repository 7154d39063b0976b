import { createTransport } from 'nodemailer';
import type { Mailer } from '../lambda/frame/net/ports.ts';
import { StartupError } from './system/durable-file.ts';

/** What a server that does not answer may keep a message waiting. The queue sends again. */
const waitMs = 10_000;

/** @throws {StartupError} */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new StartupError("LFS_QUOTA_SMTP's user and password must be percent-encoded: write % as %25.", {
      cause,
    });
  }
}

/**
 * Sends e-mails by SMTP.
 *
 * @param input.url such as `smtps://user:password@mail.example.com`; with `smtp://`, STARTTLS but for this machine.
 * @param input.from the sender's address.
 * @throws {StartupError}
 */
export function createSmtpMailer({ url, from }: { url: string; from: string | undefined }): Mailer {
  const place = URL.canParse(url) ? new URL(url) : undefined;
  if (!place || !/^smtps?:$/.test(place.protocol) || place.hostname === '')
    throw new StartupError('LFS_QUOTA_SMTP must be like smtps://user:password@mail.example.com.');
  if (!from || !/^[^\s@<>]+@[^\s@<>]+$/.test(from))
    throw new StartupError(
      'Set LFS_QUOTA_EMAIL_FROM to the address that e-mails are from, such as lfs@example.com.',
    );
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(place.hostname);
  const transport = createTransport({
    host: place.hostname.replace(/^\[|\]$/g, ''),
    port: Number(place.port) || (place.protocol === 'smtps:' ? 465 : 587),
    secure: place.protocol === 'smtps:',
    requireTLS: !isHere,
    ...(place.username && { auth: { user: decoded(place.username), pass: decoded(place.password) } }),
    connectionTimeout: waitMs,
    greetingTimeout: waitMs,
    socketTimeout: waitMs,
  });
  return {
    async send({ to, subject, text, unsubscribeUrl }) {
      const list = unsubscribeUrl && {
        'List-Unsubscribe': `<${unsubscribeUrl}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      };
      await transport.sendMail({ from, to, subject, text, ...(list && { headers: list }) });
    },
  };
}
