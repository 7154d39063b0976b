import { afterAll, beforeAll } from 'vitest';
import { setCredentials, testStores, unsetCredentials } from './examined.ts';
import { misbehavingUploads } from './misbehaving-uploads.ts';
import { misbehavingUrls } from './misbehaving-urls.ts';

beforeAll(() => setCredentials());
afterAll(unsetCredentials);

testStores('uploads', misbehavingUploads);
testStores('refusals', misbehavingUrls);
