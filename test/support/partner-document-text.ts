export { partnerDocument as partnerDocumentText } from '../../src/api/partner/partner-surface.ts'

export function documentHash(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('hex')
}
