import type { QueryChange } from '../../route/route.ts'

/** The search and page that were last looked at, for the way back from one guest. */
export const lastList: { query: QueryChange } = { query: {} }
