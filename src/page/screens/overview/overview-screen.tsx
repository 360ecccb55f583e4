import { PageHeader } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'

export function OverviewScreen() {
  return (
    <>
      <PageHeader title="Overview" />
      <EmptyState title="Nothing here yet" />
    </>
  )
}
