// isogit-lfs, the LFS of isomorphic-git: push FOLDER, or pull REPOSITORY FOLDER. The repo is at LFS_REPO_URL, its token is LFS_TOKEN.
import { promises as files } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { CLIENTS_MODULES = '', LFS_REPO_URL: url = '', LFS_TOKEN: password = '' } = process.env;
const installed = createRequire(join(CLIENTS_MODULES, 'x.js'));
const load = (/** @type {string} */ name) => import(pathToFileURL(installed.resolve(name)).href);
const { default: lfs } = await load('@fetsorn/isogit-lfs');
const { default: http } = await load('isomorphic-git/http/node');

const [action = '', from = '', to = ''] = process.argv.slice(2);
const auth = { username: 'anyone', password };
const names = (await files.readdir(from)).filter((name) => name.endsWith('.bin'));
const contents = await Promise.all(names.map((name) => files.readFile(join(from, name))));
if (action === 'push') {
  await lfs.uploadBlobs({ url, auth }, contents);
} else {
  for (const [index, name] of names.entries()) {
    const pointer = lfs.readPointer({ dir: to, content: contents[index] });
    const blob = await lfs.downloadBlobFromPointer({ fs: { promises: files }, http, url, auth, pointer });
    await files.writeFile(join(to, name), blob);
  }
}
