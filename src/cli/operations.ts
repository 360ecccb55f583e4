/**
 * The operations that commands are made from. They bring the service's handlers with them: what imports this file is loaded only for a
 * command line that needs it.
 */

import { PORTAL_OPERATIONS, type PortalOperationId } from '../api/portal/portal-surface.ts'
import type { Operation } from '../http/operation.ts'
import { assert } from '../lib/assert.ts'
import { type Flag, flagsOf } from './flags.ts'

export type { PortalOperationId }

export function portalOperation(id: PortalOperationId): Operation {
  const operation = PORTAL_OPERATIONS.find((each) => each.id === id)
  assert(operation !== undefined, 'Cannot make a command: the portal has no such operation')
  return operation
}

/** The members of each part of an agency's folder that an import sends. */
export type FolderMembers = ReturnType<typeof folderMembers>

export function folderMembers() {
  const membersOf = (id: PortalOperationId): Flag[] => flagsOf(portalOperation(id).body)
  const rates = Object.values(portalOperation('setRates').body?.['properties'] ?? {}) as { items: Flag['schema'] }[]
  return {
    units: membersOf('createUnit'),
    rates: rates.flatMap(({ items }) => flagsOf(items)),
    // Read as text: what a value is depends on its rule.
    restrictions: [],
    'fee-types': membersOf('createFeeType'),
    guests: membersOf('changeGuest'),
    bookings: membersOf('createBooking').filter(({ path }) => path.length === 1),
  }
}
