/** What must hold was broken. The message begins with the invariant's number, and says by how much. */
export class Violation extends Error {
  override readonly name = 'Violation';
}
