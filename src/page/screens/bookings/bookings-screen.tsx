import { PageHeader } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'

export function BookingsScreen() {
  return (
    <>
      <PageHeader title="Bookings" />
      <EmptyState title="Nothing here yet" />
    </>
  )
}
