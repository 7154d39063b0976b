/** Cuts that are allowed for each full page, of the first pages and of those after them. */
const cutsPerPage = 0.25;
const firstPages = 100;
const cutsPerLaterPage = 0.1;
/** Cuts that are allowed in addition. The first cut comes after two full pages. */
const cutsAtFirst = 0.5;

/**
 * How many cuts a scan may make where nothing tells how many names there are. Each costs at most one request: the last
 * page of the part before it is not full, or the part after it is empty. So requests stay in proportion to pages,
 * whatever the names are.
 */
export class CutBudget {
  #pages = 0;
  #cuts = 0;

  /** Notes a page after which the range goes on. */
  addFullPage(): void {
    this.#pages += 1;
  }

  /** Notes cuts, or requests that cost as much. */
  spend(cuts: number): void {
    this.#cuts += cuts;
  }

  /** How many cuts may be made now. Not above 0: none. */
  get room(): number {
    const early = Math.min(this.#pages, firstPages);
    const allowed = cutsAtFirst + cutsPerPage * early + cutsPerLaterPage * (this.#pages - early);
    return Math.floor(allowed - this.#cuts);
  }
}
