import { PageHeader } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'

export function GuestsScreen() {
  return (
    <>
      <PageHeader title="Guests" />
      <EmptyState title="Nothing here yet" />
    </>
  )
}
