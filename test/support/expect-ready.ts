import { eventually } from './eventually.ts'
import { send } from './http-call.ts'

/** Long enough for a few probes, and no longer: what is ready must not be unready for a while. */
const WITHIN_MS = 5_000

/** Waits until `/readyz` answers 200. One probe is not enough: after a stall of a second, it reports that PostgreSQL has not answered. */
export function expectReady({ adminUrl }: { readonly adminUrl: string }): Promise<void> {
  const headers = { connection: 'close' }
  return eventually(
    'it is ready',
    async () => (await send(`${adminUrl}/readyz`, { headers })).status === 200,
    WITHIN_MS,
  )
}
