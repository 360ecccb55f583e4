import { PageHeader } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'

export function FeesScreen() {
  return (
    <>
      <PageHeader title="Fees" />
      <EmptyState title="Nothing here yet" />
    </>
  )
}
