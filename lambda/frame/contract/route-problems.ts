/** Errors of a path that is no route, apart: the function that answers them is small, as it loads nothing else. */
export const routeProblems = {
  'not-found': { status: 404, title: 'Resource not found' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
} as const;
