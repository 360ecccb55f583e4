import { WrongTokenThrottle } from '../../src/access/wrong-token-throttle.ts'
import type { PortalOptions } from '../../src/api/app.ts'
import type { PortalListener } from '../../src/api/portal/portal-dependencies.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { TEST_PORTAL_TOKEN } from './service-process.ts'

/** What a portal in this process is told of its listener: it is the only one, and nothing takes long. */
export const LISTENER_FOR_TESTS: PortalListener = {
  withoutIdleTimeout: (_, answer) => answer(),
  publicUrl: ({ url }) => url,
}

/** Who may use a portal in this process. Every request comes from a client of its own, so that no test throttles another. */
export const PORTAL_FOR_TESTS: Omit<PortalOptions, 'ledger'> = {
  operatorTokens: [TEST_PORTAL_TOKEN],
  throttle: new WrongTokenThrottle({ clock: systemClock, onThrottled: () => {} }),
  clientAddress: () => crypto.randomUUID(),
}
