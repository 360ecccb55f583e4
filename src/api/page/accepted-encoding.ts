import { ENCODINGS, type Encoding } from './page-assets.ts'

/**
 * The best of our encodings that `Accept-Encoding` allows (RFC 9110, section 12.5.3). Without the header, plain: a client that
 * cannot decode leaves it out.
 */
export function acceptedEncoding(header: string | null): Encoding {
  if (header === null) return 'plain'
  const weights = new Map(header.split(',').map(weighted))
  const isAccepted = (encoding: Encoding) => (weights.get(encoding) ?? weights.get('*') ?? 0) > 0
  return ENCODINGS.find((encoding) => encoding !== 'plain' && isAccepted(encoding)) ?? 'plain'
}

function weighted(item: string): [name: string, weight: number] {
  const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
  const q = parameters.find((parameter) => parameter.startsWith('q='))
  return [name, q === undefined ? 1 : Number(q.slice(2))]
}
