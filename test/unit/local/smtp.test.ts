import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { afterEach, expect, it } from 'vitest';
import { createSmtpMailer } from '../../../local/smtp.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A mail server that takes one message after the other. */
async function startMailServer({ refuses = '' } = {}) {
  const said: string[] = [];
  const server = createServer((socket) => {
    let inData = false;
    const say = (line: string) => socket.write(`${line}\r\n`);
    say('220 mail.example.com');
    createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
      said.push(line);
      if (inData && line !== '.') return;
      if (inData) inData = false;
      if (refuses && line.startsWith(refuses)) return say('550 no');
      if (/^EHLO/.test(line)) return socket.write('250-mail.example.com\r\n250 AUTH PLAIN\r\n');
      if (/^AUTH/.test(line)) return say('235 ok');
      if (line !== 'DATA') return say('250 ok');
      inData = true;
      return say('354 go on');
    });
    socket.on('error', () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closing.push(() => server.close());
  return { said, address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const from = 'lfs@example.com';
const email = {
  tenant: 'acme',
  to: 'ada@example.com',
  subject: 'acme: 90 % of the limit',
  text: 'Free some space.\n.\nOr raise the limit.',
  unsubscribeUrl: 'https://lfs.example.com/v1/emails/unsubscribe?key=abc',
};

it('sends an e-mail as the user of its URL', async () => {
  const { said, address } = await startMailServer();
  await createSmtpMailer({ url: `smtp://us%65r:pass@${address}`, from }).send(email);
  expect(said).toContain(`AUTH PLAIN ${Buffer.from('\0user\0pass').toString('base64')}`);
  expect(said).toEqual(expect.arrayContaining([`MAIL FROM:<${from}>`, `RCPT TO:<${email.to}>`]));
  const text = said.join('\n');
  for (const part of [
    `From: ${from}`,
    'Subject: acme: 90 % of the limit',
    `List-Unsubscribe: <${email.unsubscribeUrl}>`,
    'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
    'Free some space.\n..\nOr raise the limit.',
  ])
    expect(text).toContain(part);
});

it('fails when the server refuses, so that the queue sends again', async () => {
  const { address } = await startMailServer({ refuses: 'RCPT' });
  await expect(createSmtpMailer({ url: `smtp://${address}`, from }).send(email)).rejects.toThrow(/550/);
});

it('sends no password without TLS but to this machine', async () => {
  const { said, address } = await startMailServer();
  // It leads here, too.
  const elsewhere = address.replace('127.0.0.1', '0.0.0.0');
  const mailer = createSmtpMailer({ url: `smtp://user:pass@${elsewhere}`, from });
  await expect(mailer.send(email)).rejects.toThrow();
  expect(said.filter((line) => line.startsWith('AUTH'))).toEqual([]);
});
