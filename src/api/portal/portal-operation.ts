import type { RequiredRole } from '../../core/catalogue/agency.ts'
import type { Operation } from '../../http/operation.ts'

/** An operation of the portal. A route without a role does not compile. */
export interface PortalOperation extends Operation {
  /** The least that suffices; `viewer`: any valid token. */
  readonly role: RequiredRole
}
