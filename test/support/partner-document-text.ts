import { RequestTally } from '../../src/edge/request-tally.ts'
import { partnerDocument } from '../../src/http/openapi/partner-document.ts'
import type { PartnerSurface } from '../../src/http/partner/partner-ledger.ts'
import { partnerResources } from '../../src/http/partner/partner-surface.ts'
import { systemClock } from '../../src/lib/clock.ts'

/** The OpenAPI document without a running ledger: routes say what they are before anything is asked of them. */
export function partnerDocumentText(): Promise<string> {
  // Only what a route takes from its surroundings when it is made; nothing of it is called.
  const ledger = new Proxy({}, { get: () => undefined })
  const tally = new RequestTally({ clock: systemClock, log: null })
  return partnerDocument(partnerResources({ ledger, tally, onFailure: () => {} } as unknown as PartnerSurface))
}

export function documentHash(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('hex')
}
