/**
 * The shares (FairShares) of agencies in large answers of the portal: the tape, and pages of many changes. Each is written in slices,
 * between which others are answered, so what bounds their share of the event loop is how many of one agency are written at once.
 */
export const RENDERINGS = {
  what: 'write a large answer',
  runningMax: 4,
  shareMax: 2,
  waitingPerOwnerMax: 32,
  waitMsMax: 5_000,
} as const
