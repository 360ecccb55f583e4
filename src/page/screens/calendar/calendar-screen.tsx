import { PageHeader } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'

export function CalendarScreen() {
  return (
    <>
      <PageHeader title="Calendar" />
      <EmptyState title="Nothing here yet" />
    </>
  )
}
