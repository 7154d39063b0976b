/** What makes the handlers of HTTP requests, by function. */

export { create as getSubscription } from '../lambda/frame/management/get-subscription.ts';
export { create as console } from '../lambda/frame/service/console-handler.ts';
export { create as health } from '../lambda/frame/service/health.ts';
export { create as notFound } from '../lambda/frame/service/not-found.ts';
export { create as lfsBatch } from '../lambda/functions/lfs/lfs-batch.ts';
export { create as management } from '../lambda/functions/management.ts';
export { create as signIn } from '../lambda/functions/sign-in.ts';
export { create as lfsChunks } from '../lambda/subjects/chunks/lfs-handler.ts';
export { create as exchangeToken } from '../lambda/subjects/ci/handler.ts';
export { create as files } from '../lambda/subjects/files/handler.ts';
export { create as lfsVerify } from '../lambda/subjects/lfs/verify.ts';
export { create as lfsLocks } from '../lambda/subjects/locks/handler.ts';
