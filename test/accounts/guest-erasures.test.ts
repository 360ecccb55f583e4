import { describe, expect, test } from 'bun:test'
import { type ErasureRows, GuestErasures } from '../../src/accounts/guest-erasures.ts'
import { CorruptLedgerError } from '../../src/core/journal/journal-error.ts'
import type { UnitDirectory } from '../../src/core/units/unit-directory.ts'
import { AGENCY, sampleId } from '../support/samples.ts'

const BEGUN = {
  agencyId: AGENCY.id,
  guestId: sampleId('gst', 'a'),
  at: 0,
  isLogged: true,
  isComplete: false,
}

/** A guest with bookings in one unit. @returns what was done, in order */
async function completed(fails: Error | null): Promise<string[]> {
  const done: string[] = []
  const units = [sampleId('unt', 'a')]
  const turn: UnitDirectory['turn'] = async (_, work) => {
    if (fails !== null) throw fails
    done.push('turn begins')
    const result = await (work as () => Promise<never>)()
    done.push('turn ends')
    return result
  }
  const rows: ErasureRows = {
    find: async () => BEGUN,
    beginIfDue: async () => false,
    count: async () => ({ bookings: 1, upcoming: 0, withNotes: 0, withReference: 0, withReason: 0 }),
    unitsOf: async () => units.splice(0),
    eraseBookings: async () => {
      // A statement takes longer than everything that is ready to run.
      await new Promise((resolve) => setImmediate(resolve))
      done.push('texts erased')
      return false
    },
    scrubAnswers: async () => {
      done.push('answers cleaned')
      return null
    },
    finish: async () => void done.push('finished'),
  }
  const erasures = new GuestErasures({
    rows,
    guests: { find: async () => null },
    commands: { eraseGuest: async () => {} },
    directory: { turn },
    catalogue: { agencyById: () => AGENCY },
    todayOf: () => '2030-01-01',
    list: null,
    onErased: () => {},
  })
  await erasures.completeBegun(AGENCY, BEGUN.guestId).catch((error: unknown) => done.push(String(error)))
  return done
}

describe('the texts of bookings are erased', () => {
  test('in the turn of their unit, and before kept answers are cleaned', async () => {
    expect(await completed(null)).toEqual(['turn begins', 'texts erased', 'turn ends', 'answers cleaned', 'finished'])
  })

  test('without a turn in a unit that is damaged, where nothing is decided', async () => {
    expect(await completed(new CorruptLedgerError('damaged'))).toEqual(['texts erased', 'answers cleaned', 'finished'])
  })

  test('later, if the unit has no turn for another reason', async () => {
    expect(await completed(new Error('busy'))).toEqual(['Error: busy'])
  })
})
