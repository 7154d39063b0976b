import * as z from 'zod';
import { fileNameFault } from '../../core/rules/names.ts';

/** Whether names of files can begin with a text. All begin with none. */
const isFilePrefix = (text: string) =>
  text === '' || [text, `${text}x`].some((name) => fileNameFault(name) === undefined);

/** What names of files begin with. */
export const filePrefix = z.string().refine(isFilePrefix, 'must be the start of a valid file name');
