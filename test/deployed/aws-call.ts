import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import { NodeSha256 } from '../../lambda/core/rules/hash.ts';
import type { Emulator } from './emulator.ts';

/**
 * Sends one signed request to the emulator, for services that have no client among the project's packages.
 *
 * @returns the body of the answer.
 * @throws if the answer is not 200.
 */
export async function awsCall(
  emulator: Emulator,
  call: {
    service: string;
    headers: Readonly<Record<string, string>>;
    body: string;
    method?: 'GET' | 'POST' | 'PUT';
    path?: string;
  },
): Promise<string> {
  const { host, hostname, port, protocol } = new URL(emulator.endpoint);
  const { credentials, region } = emulator;
  const { method = 'POST', path = '/' } = call;
  const signer = new SignatureV4({ service: call.service, region, credentials, sha256: NodeSha256 });
  const unsigned = new HttpRequest({
    method,
    protocol,
    hostname,
    port: Number(port),
    path,
    body: call.body,
    headers: { host, ...call.headers },
  });
  const { headers } = await signer.sign(unsigned);
  const ca = readFileSync(emulator.certificateFile);
  return new Promise((resolve, reject) => {
    const options = { method, host: hostname, port, path, headers, ca, servername: 'localhost' };
    const outgoing = request(options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.once('error', reject);
      answer.once('end', () => {
        if (answer.statusCode === 200) resolve(text);
        else reject(new Error(`${call.service} answered ${answer.statusCode}: ${text}`));
      });
    });
    outgoing.once('error', reject);
    outgoing.end(call.body);
  });
}
