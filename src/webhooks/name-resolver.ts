import { type AddressRefusal, refusalOfAddress } from './address-class.ts'
import type { Target } from './endpoint-url.ts'

/** A port: what a name's addresses are now. */
export interface NameResolver {
  /**
   * All IPv4 and IPv6 addresses of a name, IPv4 first.
   * @returns `timed_out` when no answer came in time, `unresolved` when the name has no address or the servers fail
   */
  resolve(host: string, withinMs: number): Promise<readonly string[] | 'unresolved' | 'timed_out'>
}

export type CheckedTarget =
  /** At least one; each may be connected to. */
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  | { readonly kind: 'refused'; readonly refusal: AddressRefusal }
  | { readonly kind: 'unresolved' }
  | { readonly kind: 'timed_out' }

/** Resolves, and refuses if any address is bad: a name that also points inside is not to be trusted with either. */
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
