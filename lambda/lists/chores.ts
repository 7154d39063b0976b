/** Work on tenants that goes on in the queue of reconciles. */

export { gcChore as gc } from '../subjects/gc/seams.ts';
