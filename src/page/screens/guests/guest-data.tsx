import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import type { Schema } from '../../api/schema.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Card } from '../../design/card.tsx'
import { RoleNote } from '../../design/feedback.tsx'
import { toast } from '../../design/toast.tsx'
import type { Guest } from './edit-guest.tsx'
import { guestFile, staysFile } from './guest-files.ts'

const PAGE_SIZE = 200
const FILES = { json: 'application/json', csv: 'text/csv' } as const

/** What a guest may ask for: everything that is held about them, and to be erased. */
export function GuestData({ guest, onErase }: { guest: Guest; onErase: () => void }) {
  const { path, may, agency } = useSession()
  const [reading, setReading] = useState<keyof typeof FILES | null>(null)
  const download = async (kind: keyof typeof FILES) => {
    setReading(kind)
    try {
      const bookings = await allBookings(path, guest.id)
      const text = kind === 'json' ? guestFile({ guest, bookings, agency }, new Date()) : staysFile(bookings)
      save(kind === 'json' ? 'guest.json' : 'stays.csv', new Blob([text], { type: FILES[kind] }))
    } catch (error) {
      toast({ tone: 'bad', text: problemOf(error).message })
    } finally {
      setReading(null)
    }
  }
  return (
    <Card title="Their data">
      <p class="guest-data-text">
        Contact details and every stay, with its notes and references, to hand over on request.
      </p>
      <div class="guest-data-actions">
        <Button icon="download" isBusy={reading === 'json'} onClick={() => void download('json')}>
          Everything (JSON)
        </Button>
        <Button icon="download" isBusy={reading === 'csv'} onClick={() => void download('csv')}>
          Stays (CSV)
        </Button>
      </div>
      <div class="guest-data-erase">
        {may('owner') ? (
          <Button icon="erase" onClick={onErase}>
            Erase this guest
          </Button>
        ) : (
          <RoleNote>Erasing a guest needs the role Owner.</RoleNote>
        )}
      </div>
    </Card>
  )
}

async function allBookings(path: { agencySlug: string }, guestId: string): Promise<Schema<'Booking'>[]> {
  const bookings: Schema<'Booking'>[] = []
  for (let page = 1; ; page++) {
    const query = { guest: guestId, page, pageSize: PAGE_SIZE }
    const answer = await answerOf(client.GET('/portal/v1/agencies/{agencySlug}/bookings', { params: { path, query } }))
    bookings.push(...answer.bookings)
    if (page >= answer.pageCount) return bookings
  }
}

function save(name: string, content: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  // Not at once: the browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
