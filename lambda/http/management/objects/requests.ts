import { decodeCursor, objectCursorPattern } from '../cursor.ts';
import { ofRepo, pageOf } from '../queries.ts';

export const objectQuery = pageOf(objectCursorPattern, decodeCursor).extend(ofRepo);
