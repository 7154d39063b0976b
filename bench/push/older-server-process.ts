import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { serve } from '../child/serve.ts';
import { ourApi } from './our-api.ts';

/** Where commit 2e8b484 had the parts of its embedded stack. Its types were much the same; what it ignores does no harm. */
const [, , checkout = ''] = process.argv;
const load = (file: string) => import(pathToFileURL(join(checkout, file)).href);

const { openDatabase } = await load('local/database.ts');
const { composeEmbedded } = await load('local/compose.ts');
const { createFunctions } = await load('local/functions.ts');
const { openHttpFront } = await load('local/http-front.ts');
const { createTenant } = await load('lambda/use-cases/tenants.ts');
const { createToken } = await load('lambda/use-cases/tokens.ts');
const { createInvocations } = await load('lambda/adapters/async-invocations.ts');
const { defaultSettings } = await load('lambda/domain/settings.ts');

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
    // It asked by HTTP already.
    storeOf: ({ deps }) => deps.store,
  }),
);
