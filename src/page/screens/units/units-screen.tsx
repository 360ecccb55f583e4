import { PageHeader } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'

export function UnitsScreen() {
  return (
    <>
      <PageHeader title="Units and rates" />
      <EmptyState title="Nothing here yet" />
    </>
  )
}
