/** The number of the change that CI runs for. undefined: all is run, as at night and by hand. */
const turn = process.env['TURN'];

/** Whether this change runs one of many, by its index. The changes after it run the others, one of `of` each. */
export const isInTurn = (index: number, of = 2): boolean =>
  turn === undefined || (index + Number(turn)) % of === 0;
