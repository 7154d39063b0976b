import { spawnSync } from 'node:child_process';
import { plainEnvironment, run } from '../../process.ts';

/** Programs that extract archives. `.ci/run` installs them. */
const programs = ['python3', 'tar', 'bsdtar', 'unzip', '7zz'] as const;

const missingPrograms = programs.filter((program) => spawnSync('which', [program]).status !== 0);

/** For `describeWith`: true if all programs are here. */
export const archiveTools = {
  found: missingPrograms.length === 0 || undefined,
  missing: `${missingPrograms.join(', ')} not installed. On Debian: apt-get install python3 tar libarchive-tools unzip 7zip`,
};

/**
 * Runs a program in a folder, with UTF-8 names.
 *
 * @returns what it prints.
 * @throws if it fails.
 */
export async function runTool(folder: string, command: string, ...args: readonly string[]): Promise<string> {
  const env = { ...plainEnvironment(), LC_ALL: 'C.UTF-8', HOME: folder };
  const { code, out, err } = await run(command, args, { cwd: folder, env, timeoutMs: 120_000 });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${out}\n${err}`);
  return out;
}

/** A program of Python: reads an archive and prints each file's name with the SHA-256 of its bytes, as JSON. */
export const pythonHashes = `
import hashlib, json, sys, tarfile, zipfile
if sys.argv[1].endswith('.zip'):
    archive = zipfile.ZipFile(sys.argv[1])
    assert archive.testzip() is None
    files = {name: archive.read(name) for name in archive.namelist()}
else:
    archive = tarfile.open(sys.argv[1], 'r:')
    files = {member.name: archive.extractfile(member).read() for member in archive}
print(json.dumps({name: hashlib.sha256(data).hexdigest() for name, data in files.items()}))
`;
