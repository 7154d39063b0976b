import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { LyingStore } from '../../../support/lying-store.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { type Answer, cli, programForTest, startServer } from '../harness.ts';
import { setCredentials, unsetCredentials } from './examined.ts';

beforeAll(() => setCredentials());
afterAll(unsetCredentials);

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const tempFolder = useTempFolders();

/** Both test a store. */
const commands = {
  doctor: (url: string) => ['doctor', 's3://objects', '--endpoint', url],
  serve: (url: string) => ['serve', '--store', url, '--bucket', 'objects', '--data', tempFolder()],
};
type Command = keyof typeof commands;

const optionsOf = (name: string) =>
  programForTest()
    .commands.find((each) => each.name() === name)
    ?.options.map(({ long }) => long) ?? [];

/** Options that a text names as those of the command that printed it: others come with their command. */
const named = (text: string) =>
  text.replace(/\b(lfs-quota|aws|git) [a-z][^\n]*/g, '').match(/(?<![\w-])--[a-z][a-z-]+/g) ?? [];

const refusal = (status: number, code: string): Answer => ({
  status,
  type: 'application/xml',
  body: `<Error><Code>${code}</Code><Message>x</Message></Error>`,
});

async function answering(answer: Answer): Promise<string> {
  const server = await startServer(() => answer);
  ends.push(() => server.close());
  return server.url;
}

async function absent(): Promise<string> {
  const server = await startServer(() => ({ status: 500 }));
  await server.close();
  return server.url;
}

async function lying(): Promise<string> {
  const store = await LyingStore.start({ overlooks: ({ code }) => code === 'BadDigest' });
  ends.push(() => store.stop());
  return store.url;
}

const stores: readonly [string, () => Promise<string>, Record<Command, readonly string[]>][] = [
  ['a wrong URL', absent, { doctor: ['--endpoint'], serve: ['--store'] }],
  [
    'a wrong bucket',
    () => answering(refusal(404, 'NoSuchBucket')),
    { doctor: ['--endpoint', '--region'], serve: ['--store', '--region'] },
  ],
  [
    'another region',
    () => answering(refusal(301, 'PermanentRedirect')),
    { doctor: ['--region'], serve: ['--region'] },
  ],
  ['no right', () => answering(refusal(403, 'AccessDenied')), { doctor: [], serve: [] }],
  ['a wrong key', () => answering(refusal(403, 'InvalidAccessKeyId')), { doctor: [], serve: [] }],
  [
    'another refusal',
    () => answering(refusal(400, 'Odd')),
    { doctor: ['--endpoint', '--region'], serve: ['--store', '--region'] },
  ],
  ['no XML', () => answering({ status: 200, body: 'x' }), { doctor: ['--endpoint'], serve: ['--store'] }],
  // All checks are made, and those that are left out say what they need.
  ['a store that lies', lying, { doctor: [], serve: [] }],
];
const rows = stores.flatMap(([what, start, wanted]) =>
  (Object.keys(commands) as Command[]).map((name) => ({ what, start, name, wanted: wanted[name] })),
);

it.each(rows)('$name advises only options it has: $what', async ({ start, name, wanted }) => {
  const { code, out, err } = await cli(commands[name](await start()));
  expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining('→') });
  expect(named(out + err)).toEqual(wanted);
  expect(optionsOf(name)).toEqual(expect.arrayContaining(named(out + err)));
});

it('serve advises no option of doctor where the result cannot be written', async () => {
  const { writeProfile } = await import('../../../../cli/commands/doctor.ts');
  const file = path.join(tempFolder(), 'file');
  writeFileSync(file, '');
  const failed = await writeProfile(path.join(file, 'store-profile.json'), {} as never).catch(
    (error: Error & { hint: string }) => error,
  );
  expect(failed).toMatchObject({ message: expect.stringContaining('ENOTDIR') });
  expect(named(failed?.hint ?? '--none')).toEqual([]);
});

it('the errors of a server name only options of serve', () => {
  const local = path.join(import.meta.dirname, '../../../../local');
  const texts = readdirSync(local, { recursive: true, encoding: 'utf8' })
    // Other commands are there, too.
    .filter((file) => file.endsWith('.ts') && !file.startsWith('backup'))
    .flatMap(
      (file) =>
        readFileSync(path.join(local, file), 'utf8').match(/StartupError\((?:[^;]|;(?!\n))*;\n/g) ?? [],
    );
  expect(texts.length).toBeGreaterThan(20);
  expect(optionsOf('serve')).toEqual(expect.arrayContaining([...new Set(texts.flatMap(named))]));
});
