import { type AddressRefusal, refusalOfAddress } from './address-class.ts'
import type { Target } from './endpoint-url.ts'

/** A port: looks up the current addresses of a name. */
export interface NameResolver {
  /**
   * All IPv4 and IPv6 addresses of a name, IPv4 first.
   * @returns `timed_out` when no answer came in time; `unresolved` when the name has no address or the DNS servers fail
   */
  resolve(host: string, withinMs: number): Promise<readonly string[] | 'unresolved' | 'timed_out'>
}

export type CheckedTarget =
  /** At least one address; all of them passed the check. */
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  | { readonly kind: 'refused'; readonly refusal: AddressRefusal }
  | { readonly kind: 'unresolved' }
  | { readonly kind: 'timed_out' }

/**
 * Resolves a name and refuses it if any of its addresses is refused: a name that also points to an internal address
 * cannot be trusted.
 */
export async function checkTarget(
  target: Target,
  resolver: NameResolver,
  withinMs: number,
  refusalOf: (address: string) => AddressRefusal | null = refusalOfAddress,
): Promise<CheckedTarget> {
  const resolved = target.isLiteral ? [target.host] : await resolver.resolve(target.host, withinMs)
  if (typeof resolved === 'string') return { kind: resolved }
  for (const address of resolved) {
    const refusal = refusalOf(address)
    if (refusal !== null) return { kind: 'refused', refusal }
  }
  return resolved.length === 0 ? { kind: 'unresolved' } : { kind: 'addresses', addresses: resolved }
}
