import type { JournalRow } from '../support/memory-journal-store.ts'
import type { SimStore } from './sim-store.ts'

/** The references of stays that are requested together; they say how many there are. @param ending of the last one */
export function groupRefsOf(ref: string, size: number, ending = ''): string[] {
  return Array.from({ length: size }, (_, i) => `${ref} ${i + 1}/${size}${i + 1 === size ? ending : ''}`)
}

const OF_GROUP = /^(.+) \d+\/(\d+)/

/** Stays that were requested together are all booked, in one group, or none is; and the entries of a record are consecutive and complete. */
export function tornGroups({ bookings, journal }: SimStore): string[] {
  const sizes = new Map<string, { readonly size: number; readonly groups: (string | null)[] }>()
  const alone: string[] = []
  for (const { booking } of bookings.values()) {
    const [, ref = '', size = ''] = OF_GROUP.exec(booking.sourceRef ?? '') ?? []
    if (ref === '' && booking.groupId !== null) alone.push(`J9: ${booking.sourceRef} is in ${booking.groupId}`)
    if (ref === '') continue
    const group = sizes.get(ref) ?? { size: Number(size), groups: [] }
    group.groups.push(booking.groupId)
    sizes.set(ref, group)
  }
  const torn = [...sizes].flatMap(([ref, { size, groups }]) => {
    const ids = new Set(groups)
    if (groups.length !== size) return [`J9: the group of ${ref} has ${groups.length} of ${size} bookings`]
    return ids.size === 1 && !ids.has(null) ? [] : [`J9: the bookings of ${ref} are not of one group`]
  })
  return [...alone, ...torn, ...tornRecords(journal)]
}

/** As verify does. */
function tornRecords(journal: readonly JournalRow[]): string[] {
  const next = new Map<number, string>()
  const torn = journal.flatMap(({ shard, seq, payload }) => {
    const [, number = '1', of = '1'] = /"part":\[(\d+),(\d+)\]/.exec(payload) ?? []
    const expected = next.get(shard) ?? null
    next.delete(shard)
    if (number !== of) next.set(shard, `${Number(number) + 1}/${of}`)
    const isNext = expected === null ? number === '1' : expected === `${number}/${of}`
    return isNext
      ? []
      : [`J9: entry ${shard}/${seq} is ${number}/${of} of its record, and not ${expected ?? 'the first'}`]
  })
  return [...torn, ...[...next].map(([shard, part]) => `J9: the log of shard ${shard} ends before ${part} of a record`)]
}
