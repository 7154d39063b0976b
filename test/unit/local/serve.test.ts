import { expect, it } from 'vitest';
import { startServer } from '../../../local/serve.ts';
import { StartupError } from '../../../local/system/durable-file.ts';

const usual = {
  listen: '127.0.0.1:0',
  data: 'data',
  publicUrl: 'https://lfs.example.com',
  region: 'us-east-1',
  rate: '100',
};
const store = 'https://s3.example.com';
const credentials = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };

it.each([
  [{ publicUrl: 'http://lfs.example.com' }, {}, /must start with https:/],
  [{ listen: '8787' }, {}, /--listen takes an address and a port/],
  [{ listen: '127.0.0.1:65536' }, {}, /--listen takes an address and a port/],
  [{ store }, credentials, /go together/],
  [{ bucket: 'b' }, credentials, /go together/],
  [{ store, bucket: 'b' }, {}, /AWS_ACCESS_KEY_ID/],
  [{ store: 's3.example.com', bucket: 'b' }, credentials, /--store takes/],
  [{ rate: '-1' }, {}, /--rate takes a number/],
  [{ listenMetrics: '9090' }, {}, /--listen-metrics takes an address/],
  [{ gitHost: ['x'] }, {}, /--git-host takes/],
  [{ issuer: ['x'] }, {}, /--issuer takes/],
  [{ adopt: '/nowhere.json' }, {}, /Can't use --adopt/],
  [{}, { LFS_QUOTA_SMTP: 'mail.example.com' }, /LFS_QUOTA_SMTP must be/],
  [
    {},
    { LFS_QUOTA_SMTP: 'smtps://u:50%@mail.example.com', LFS_QUOTA_EMAIL_FROM: 'a@b.c' },
    /percent-encoded/,
  ],
  [{ data: ' ' }, {}, /--data takes a folder/],
  [{}, { LFS_QUOTA_SMTP: 'smtps://mail.example.com' }, /LFS_QUOTA_EMAIL_FROM/],
  [{ trustProxy: 'proxy' }, {}, /Trusted proxies must be/],
])('does not start with %j, and says why', async (settings, env, why) => {
  const starting = startServer({ ...usual, ...settings }, { env, write: () => {} });
  await expect(starting).rejects.toThrow(StartupError);
  await expect(starting).rejects.toThrow(why);
});
