import { eventually } from './eventually.ts'
import { send } from './http-call.ts'

/**
 * Expects the probe of readiness to answer 200. It is asked again: a machine that stalls for a second makes it say that PostgreSQL has not
 * answered.
 */
export function expectReady({ adminUrl }: { readonly adminUrl: string }): Promise<void> {
  const headers = { connection: 'close' }
  return eventually('it is ready', async () => (await send(`${adminUrl}/readyz`, { headers })).status === 200)
}
