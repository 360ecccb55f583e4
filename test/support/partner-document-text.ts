import { partnerDocument } from '../../src/api/openapi/partner-document.ts'
import type { PartnerSurface } from '../../src/api/partner/partner-dependencies.ts'
import { partnerResources } from '../../src/api/partner/partner-surface.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { RequestStats } from '../../src/observability/request-stats.ts'

/** The OpenAPI document without a running ledger: routes say what they are before anything is asked of them. */
export function partnerDocumentText(): Promise<string> {
  // Only what a route takes from its dependencies when it is made; nothing of it is called.
  const ledger = new Proxy({}, { get: () => undefined })
  const requestStats = new RequestStats({ clock: systemClock, log: null })
  return partnerDocument(partnerResources({ ledger, requestStats, onFailure: () => {} } as unknown as PartnerSurface))
}

export function documentHash(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('hex')
}
