/** Replaces the verification process in tests: behaves as its argument says. */
import type { FromVerifier, ToVerifier } from '../../../src/verify/verification-process.ts'
import { sampleId } from '../../support/samples.ts'

const [, , part = ''] = process.argv
const say = (message: FromVerifier) => process.send?.(message)
const result = (units: number): FromVerifier => ({
  kind: 'done',
  verification: {
    units,
    entries: 0,
    bookings: 0,
    snapshots: 0,
    events: 0,
    differences: [],
    differenceCount: 0,
  },
})

process.on('disconnect', () => process.exit(0))
process.on('message', (message: ToVerifier) => {
  if (part === 'dies') process.exit(7)
  if (part === 'fails') say({ kind: 'failed', message: `no ledger at ${JSON.stringify(message)}` })
  if (part === 'breaks') say({ kind: 'broken', message: 'Cannot continue' })
  if (part === 'asks' && message.kind === 'start')
    say({ kind: 'ask_live', unitIds: Array.from({ length: 1_000 }, (_, i) => sampleId('unt', i)) })
  // Number of states it received.
  if (part === 'asks' && message.kind === 'live') say(result(message.units.length))
})
say({ kind: 'up' })
