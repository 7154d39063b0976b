import { expect, it } from 'vitest';
import { corsAdvice } from '../../../../cli/doctor/file-checks.ts';

const rule =
  '{"AllowedOrigins":["https://a.example"],"AllowedMethods":["GET","HEAD","PUT"],"AllowedHeaders":["content-type","if-none-match","x-amz-checksum-sha256"],"ExposeHeaders":["ETag"]}';

it.each([
  [undefined, `aws s3api put-bucket-cors --bucket b --cors-configuration '{"CORSRules":[${rule}]}'`],
  ['https://account.r2.cloudflarestorage.com', `to the settings of b: [${rule}]`],
  ['https://s3.example.com', `CORS settings: ${rule}. The store of lfs-quota serve allows it`],
])('says how to let pages in, at %s', (endpoint, says) => {
  expect(corsAdvice('https://a.example', { bucket: 'b', endpoint })).toContain(says);
});
