import { decodeCursor, objectCursorPattern, ofRepo, pageOf } from '../../../api/contract/fields.ts';

export const objectQuery = pageOf(objectCursorPattern, decodeCursor).extend(ofRepo);
