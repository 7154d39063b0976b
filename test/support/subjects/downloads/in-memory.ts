import { createDynamoDbDownloads } from '../../../../lambda/subjects/downloads/download-store.ts';
import { createDynamoDbPublicReads } from '../../../../lambda/subjects/downloads/public-read-store.ts';
import { storeClass } from '../../memory/stores.ts';

export class MemoryDownloads extends storeClass(createDynamoDbDownloads) {}
export class MemoryPublicReads extends storeClass(createDynamoDbPublicReads) {}
