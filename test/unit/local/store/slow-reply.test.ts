import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { xmlReply } from '../../../../local/store/reply.ts';
import { replyInTime } from '../../../../local/store/slow-reply.ts';
import { xmlDeclaration } from '../../../../local/store/xml.ts';

const errorReply = () => xmlReply('<Error/>', { status: 400 });

/** Work that the test ends. */
function openWork() {
  let end: { done: (xml: string) => void; fail: () => void } | undefined;
  const work = new Promise<ReturnType<typeof xmlReply>>((resolve, reject) => {
    end = { done: (xml) => resolve(xmlReply(xml)), fail: () => reject(new Error('broken')) };
  });
  if (end === undefined) throw new Error('unreachable');
  return { work, ...end };
}

/** The chunks of a reply's body. Ends the work after three spaces. */
async function bodyOf(body: unknown, end: () => void): Promise<string> {
  expect(body).toBeInstanceOf(Readable);
  let text = '';
  for await (const chunk of body as Readable) {
    text += chunk;
    if (text === `${xmlDeclaration}   `) end();
  }
  return text;
}

describe('the response to work that may take long', () => {
  test('is the result, if that comes in time', async () => {
    expect(await replyInTime(Promise.resolve(xmlReply('<Done/>')), errorReply)).toEqual(xmlReply('<Done/>'));
  });

  test('is the error, with its status, if that comes in time', async () => {
    const failure = new Error('broken');
    await expect(replyInTime(Promise.reject(failure), errorReply)).rejects.toBe(failure);
  });

  test('begins with spaces if the result comes later', async () => {
    const { work, done } = openWork();
    const reply = await replyInTime(work, errorReply, { everyMs: 5 });
    expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/xml' } });
    const text = await bodyOf(reply.body, () => done('<Done/>'));
    expect(text).toMatch(/^<\?xml [^>]*\?>\n {3,}<Done\/>$/);
  });

  test('has a late error in its body', async () => {
    const { work, fail } = openWork();
    const reply = await replyInTime(work, errorReply, { everyMs: 5 });
    expect(await bodyOf(reply.body, fail)).toMatch(/^<\?xml [^>]*\?>\n {3,}<Error\/>$/);
  });
});
