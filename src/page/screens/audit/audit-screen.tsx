import { PageHeader } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'

export function AuditScreen() {
  return (
    <>
      <PageHeader title="Audit and usage" />
      <EmptyState title="Nothing here yet" />
    </>
  )
}
