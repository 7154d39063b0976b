import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { S3ObjectStore } from '../../lambda/adapters/s3/object-store.ts';
import { createInvocations } from '../../lambda/adapters/system/invocations.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { createTenant } from '../../lambda/use-cases/access/create-tenant.ts';
import { createToken } from '../../lambda/use-cases/access/create-token.ts';
import { composeEmbedded } from '../../local/compose.ts';
import { openDatabase } from '../../local/data/database.ts';
import { createFunctions } from '../../local/functions.ts';
import { openHttpFront } from '../../local/http/front.ts';
import { serve } from '../child/serve.ts';
import { ourApi, type StackParts } from './our-api.ts';
import { bucket, credentials, region } from './world.ts';

/** The embedded store answers HEAD in its own process; this one is elsewhere, as on AWS. */
const storeOf: StackParts['storeOf'] = ({ deps, storeUrl }) => {
  const place = { bucket, region, endpoint: storeUrl, forcePathStyle: true };
  const client = new BucketClient({ ...place, credentials: async () => credentials });
  return new S3ObjectStore({ client, clock: deps.clock });
};

serve(
  ourApi({
    openDatabase,
    composeEmbedded,
    createFunctions,
    openHttpFront,
    createTenant,
    createToken,
    createInvocations,
    defaultSettings,
    storeOf,
  }),
);
