import type { Caller } from '../core/journal/record.ts'

/** On whose behalf the demo is made. */
export const DEMO_CALLER: Caller = { actor: { kind: 'system', id: null }, route: 'demo', requestId: null }
