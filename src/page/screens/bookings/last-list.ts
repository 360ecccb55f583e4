import type { QueryChange } from '../../route/route.ts'

/** The filters and page that were last looked at, for the way back from one booking. */
export const lastList: { query: QueryChange } = { query: {} }
